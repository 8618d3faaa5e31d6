/** The tray of a webview, with a program that shows trays, as on a desktop. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createClient, type MessageBus } from 'dbus-native';
import { busConfig } from '../keyring/session.ts';
import { until } from '../support/waiting.ts';
import { windowTest, type Stage } from './window-stage.ts';

const there = { where: 'debian 13', programs: ['unshare', 'dbus-daemon'] } as const;

const watcher = 'org.kde.StatusNotifierWatcher';

/** The tray of an application: its bus name, and the path of its menu. */
type Item = { readonly destination: string; readonly path: string };

type Desktop = AsyncDisposable & {
  readonly bus: MessageBus;
  /** The next tray that an application registers. */
  readonly item: Promise<Item>;
};

/** A bus of the person's session, and a program on it that shows trays. */
async function openDesktop({ folder, env }: Stage): Promise<Desktop> {
  const config = join(folder, 'bus.conf');
  const path = join(folder, 'bus');
  await writeFile(config, busConfig(`unix:path=${path}`));
  const words = [`--config-file=${config}`, '--nofork', '--print-address'];
  const daemon = spawn('dbus-daemon', words, { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(createInterface({ input: daemon.stdout }), 'line');
  await chmod(path, 0o666);
  env['DBUS_SESSION_BUS_ADDRESS'] = `unix:path=${path}`;
  const bus = createClient({ busAddress: `unix:path=${path}`, plainValues: true });
  const { promise: item, resolve } = Promise.withResolvers<Item>();
  bus.connection.on('message', (message: Readonly<Record<string, unknown>>) => {
    if (message['member'] !== 'RegisterStatusNotifierItem') return;
    const [place] = message['body'] as readonly string[];
    resolve({ destination: String(message['sender']), path: `${place}/Menu` });
  });
  const noOp = (): void => {};
  bus.exportInterface(
    {
      RegisterStatusNotifierItem: noOp,
      IsStatusNotifierHostRegistered: true,
      ProtocolVersion: 0,
      RegisteredStatusNotifierItems: [],
    },
    '/StatusNotifierWatcher',
    {
      name: watcher,
      methods: { RegisterStatusNotifierItem: ['s', '', ['service'], []] },
      properties: {
        IsStatusNotifierHostRegistered: 'b',
        ProtocolVersion: 'i',
        RegisteredStatusNotifierItems: 'as',
      },
    },
  );
  await bus.requestName(watcher, 0);
  return {
    bus,
    item,
    async [Symbol.asyncDispose]() {
      bus.connection.end();
      const ended = once(daemon, 'exit');
      daemon.kill('SIGKILL');
      await ended;
    },
  };
}

const menuOf = (item: Item) => ({ ...item, interface: 'com.canonical.dbusmenu' });

/** The menu as text: each label with the number that chooses it. */
async function labels({ bus }: Desktop, item: Item): Promise<ReadonlyMap<string, number>> {
  const layout = await bus.invoke<unknown>({
    ...menuOf(item),
    member: 'GetLayout',
    signature: 'iias',
    body: [0, -1, ['label']],
  });
  const items = JSON.stringify(layout).matchAll(/\[(\d+),\{[^{}]*"label":"([^"]*)"/g);
  return new Map([...items].map(([, id, label]) => [label!, Number(id)]));
}

windowTest(
  'the tray opens the window and quits, and the window hides in it',
  there,
  async (stage) => {
    await using desktop = await openDesktop(stage);
    const shell = stage.start('webview', 'hidden');
    assert.deepEqual(await shell.told('process').then(({ hasTray }) => hasTray), true);
    const item = await desktop.item;
    assert.deepEqual(await stage.titles(), [], 'nothing is seen before it is shown');
    const choose = async (label: string): Promise<void> => {
      const id = (await labels(desktop, item)).get(label);
      assert.ok(id !== undefined, `the menu has ${label}`);
      await desktop.bus.invoke({
        ...menuOf(item),
        member: 'Event',
        signature: 'isvu',
        body: [id, 'clicked', ['s', ''], 0],
      });
    };
    shell.order({ do: 'trust' });
    shell.order({ do: 'show', path: '/open/once' });
    await stage.seen('core');
    shell.order({ do: 'status', text: 'svc answers' });
    await until('the menu says so', async () => (await labels(desktop, item)).has('svc answers'));
    shell.order({ do: 'hide' });
    await stage.unseen('core');
    await choose('Open svc');
    assert.equal((await shell.told('tray')).chose, 'open');
    await stage.seen('core');
    await choose('Quit svc');
    assert.equal((await shell.told('tray')).chose, 'quit');
  },
);
