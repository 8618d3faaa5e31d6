/**
 * The Debian package in use: installed on a Debian 13 with a real systemd, set up, run, changed,
 * killed, upgraded, removed and purged.
 */
import assert from 'node:assert/strict';
import { chownSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before as first, suite, test } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import type { FakeModel } from '../fake/model-server.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import { freePort, post, secret, webhookConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';
import { bootDebian, childOf, whyNoMachine, type Machine } from './debian-machine.ts';
import { keptReleases } from '../kept-releases/kept.ts';
import { made } from './made.ts';
import { isInOwnNetwork, networkDevices, runInOwnNetwork } from './own-network.ts';
import { debName, smoke, version } from './smoke.ts';

const { path: packed, skip } = made('deb', debName);
const noMachine = whyNoMachine();
const why = noMachine === null ? skip : `NOT TRIED: the package for Debian: ${noMachine}.`;

const adminToken = 'an-admin-token-of-the-package';

if (why === false && !isInOwnNetwork) {
  process.exitCode = await runInOwnNetwork(import.meta.filename);
} else {
  suite('the package for Debian', { skip: why }, tryPackage);
}

function tryPackage(): void {
  let machine: Machine;
  let model: FakeModel;
  let receiver: Receiver;
  let document: ReturnType<typeof webhookConfig>;
  let port = 0;
  let adminPort = 0;
  const opened = new AsyncDisposableStack();

  first(async () => {
    machine = opened.use(await bootDebian());
    model = opened.use(await startFakeOllama({ answer: 'hello yourself' }));
    receiver = opened.use(await startReceiver());
    [port, adminPort] = [await freePort(), await freePort()];
    const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
    document = {
      ...webhookConfig(where),
      storage: { path: '/var/lib/svc/svc.db' },
      admin: { token_env: 'ADMIN_TOKEN' },
    };
    await machine.done('cat >/root/svc.deb', readFileSync(packed));
  });
  after(() => opened.disposeAsync());

  const done = (command: string, input?: string | Buffer): Promise<string> =>
    machine.done(command, input);
  const unit = (field: string): Promise<string> => {
    return done(`systemctl show --value --property ${field} svc`);
  };
  const stateOf = async (what: 'active' | 'enabled'): Promise<string> => {
    return (await machine.run(`systemctl is-${what} svc`)).out.trim();
  };
  const ownerOf = (path: string): Promise<string> => done(`stat --format '%U:%G %a' ${path}`);
  const isThere = async (path: string): Promise<boolean> => {
    return (await machine.run(`test -e ${path}`)).code === 0;
  };
  /** Writes like an editor that keeps the file's owner. */
  const write = (text: string): Promise<string> => done('cat >/etc/svc/svc.json', text);
  const at = (path: string): string => `http://127.0.0.1:${adminPort}${path}`;
  const headers = { authorization: `Bearer ${adminToken}` };
  const listens = (): Promise<void> => {
    return until('svc to listen', async () => {
      const isOver = (await stateOf('active')) === 'failed';
      assert.ok(!isOver, isOver ? await done('journalctl --unit svc --lines 30') : '');
      const answer = await fetch(at('/healthz')).catch(() => null);
      return answer?.status === 200;
    });
  };
  const say = async (text: string): Promise<void> => {
    const { status } = await post(`http://127.0.0.1:${port}/webhook`, { sender_id: 'ada', text });
    assert.equal(status, 200);
  };
  /** Sends a message, and waits for its reply. */
  const talk = async (): Promise<void> => {
    const before = receiver.received.length;
    await say('hello');
    assert.equal((await receiver.waitFor(before + 1))[before]!.body['text'], 'hello yourself');
  };
  const messages = async (): Promise<number> => {
    const answer = await fetch(at('/api/v1/messages?limit=100'), { headers });
    return ((await answer.json()) as { rows: readonly unknown[] }).rows.length;
  };

  test('neither this test nor its machine is on the network of the host', async () => {
    assert.deepEqual(networkDevices(), ['lo']);
    const inside = await done('readlink /proc/self/ns/net');
    assert.equal(inside, readlinkSync('/proc/self/ns/net'));
  });

  test('an install starts nothing and enables nothing', async () => {
    await done('dpkg --install /root/svc.deb');
    assert.deepEqual([await stateOf('enabled'), await stateOf('active')], ['disabled', 'inactive']);
    const owners = ['/etc/svc', '/var/lib/svc', '/etc/credstore/svc'].map(ownerOf);
    assert.deepEqual(await Promise.all(owners), ['svc:svc 750', 'svc:svc 750', 'root:root 700']);
    assert.match(await done('getent passwd svc'), /:\/var\/lib\/svc:\/usr\/sbin\/nologin$/);
    assert.equal(await done('dpkg --verify svc'), '');
  });

  test('the unit is without a fault, and exposes little', async () => {
    const { code, out, err } = await machine.run('systemd-analyze verify --man=no svc.service');
    assert.deepEqual([code, out + err], [0, '']);
    const said = await done('systemd-analyze security --offline=true svc.service');
    const [, exposure] = /exposure level for svc\.service: ([\d.]+)/.exec(said) ?? [];
    assert.ok(Number(exposure) <= 1.5, said);
  });

  test('what every form of svc does, it does', async (t) => {
    process.env['TMPDIR'] = machine.shared;
    const [uid, gid] = (await done('id -u svc; id -g svc')).split('\n').map(Number);
    const give = (path: string): void => {
      for (const one of ['', ...readdirSync(path)]) chownSync(join(path, one), uid!, gid!);
    };
    try {
      await smoke(t, {
        command: (cwd) => {
          const user = ['setpriv', '--reuid=svc', '--regid=svc', '--clear-groups', '--'];
          return machine.inside('env', '-C', cwd, ...user, '/usr/bin/svc');
        },
        give,
        stop: (child) => void process.kill(childOf(child.pid!)!, 'SIGTERM'),
      });
    } finally {
      delete process.env['TMPDIR'];
    }
  });

  test('the first configuration is one that the service can read and replace', async () => {
    const said = await done(
      'svc init --yes --dir /etc/svc --channel webhook --provider ollama --model llama3.2',
    );
    assert.match(said, /urandom \| base64 \| sudo tee \/etc\/credstore\/svc\/WEBHOOK_SECRET/);
    assert.match(said, /sudo systemctl enable --now svc/);
    assert.equal(await ownerOf('/etc/svc/svc.json'), 'svc:svc 600');
    const written = JSON.parse(await done('cat /etc/svc/svc.json')) as { storage: unknown };
    assert.deepEqual(written.storage, { path: '/var/lib/svc/svc.db' });
    await write(JSON.stringify(document));
    for (const [secretName, value] of [
      ['WEBHOOK_SECRET', secret],
      ['ADMIN_TOKEN', adminToken],
    ]) {
      await done(`tee /etc/credstore/svc/${secretName} >/dev/null`, `${value}\n`);
    }
  });

  test('root finds the secrets of the service, and nobody else does', async () => {
    assert.match(await done('svc config check --preflight'), /WEBHOOK_SECRET/);
    const read = 'cat /etc/credstore/svc/WEBHOOK_SECRET';
    const other = await machine.run(
      `setpriv --reuid=nobody --regid=nogroup --clear-groups ${read}`,
    );
    assert.equal(other.code, 1, other.out);
  });

  test('by no file of the service does its user get the hands of root', async () => {
    const asService = (command: string): Promise<string> => {
      return done(`setpriv --reuid=svc --regid=svc --clear-groups sh -c '${command}'`);
    };
    await done('cp /etc/shadow /root/of-root && chmod 644 /root/of-root && chmod 711 /root');
    await asService('cd /var/lib/svc; ln -s /root/of-root svc.db; ln -s /etc/made svc.db.lock');
    for (const command of ['audit', 'pair ABCD-EFGH', 'doctor', 'backup /var/lib/svc/copy.db']) {
      await machine.run(`svc ${command}`);
    }
    assert.equal(await ownerOf('/root/of-root'), 'root:root 644');
    assert.equal(await isThere('/etc/made'), false);
    await asService('cd /var/lib/svc; rm svc.db svc.db.lock');
    await done('chmod 700 /root');
  });

  test('a command of root before the first start is in no way of the service', async () => {
    await machine.run('svc audit');
    await done('systemctl enable --now svc');
    await listens();
    await talk();
    assert.deepEqual(
      [await stateOf('enabled'), await unit('NRestarts'), await ownerOf('/var/lib/svc/svc.db')],
      ['enabled', '0', 'svc:svc 600'],
    );
    for (const path of ['/ui', '/builder']) {
      assert.equal((await fetch(at(path), { headers })).status, 200, path);
    }
    assert.match(await done('svc status'), /webhook/);
    await done('svc backup /var/lib/svc/copy.db');
    assert.equal(await ownerOf('/var/lib/svc/copy.db'), 'svc:svc 600');
    const limits = await done(`cat /proc/${await unit('MainPID')}/limits`);
    // The largest number that this machine allows.
    assert.match(limits, /^Max open files +(\d{5,}) +\1 /m);
    await until('the code to be kept compiled', () => isThere('/var/cache/svc/v*'));
  });

  test('a reload takes an edited configuration, and a wrong one changes nothing', async () => {
    const pid = await unit('MainPID');
    const moved = await freePort();
    const inUse = structuredClone(document);
    inUse.channels[0]!['webhook'] = { bind: `127.0.0.1:${moved}`, outbound_url: receiver.url };
    await write(JSON.stringify(inUse));
    await done('systemctl reload svc');
    port = moved;
    await until('the new address', async () => {
      return (await fetch(`http://127.0.0.1:${moved}/`).catch(() => null)) !== null;
    });
    await talk();
    document = inUse;
    await write('{ "channels": 7 }');
    await done('systemctl reload svc');
    await until('the refusal in the log', async () => {
      const log = await done('journalctl --unit svc --output cat');
      return log.includes('config_not_applied');
    });
    await talk();
    assert.deepEqual([await unit('MainPID'), await stateOf('active')], [pid, 'active']);
  });

  test('an operator puts a configuration into use, and the service writes it', async () => {
    await write(JSON.stringify(document));
    await done('systemctl reload svc');
    const before = await fetch(at('/api/v1/config'), { headers });
    const changed = JSON.stringify({ ...document, session: {} }, null, 2);
    const answer = await fetch(at('/api/v1/config'), {
      method: 'PUT',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'if-match': before.headers.get('etag') ?? '',
      },
      body: changed,
    });
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(await done('cat /etc/svc/svc.json'), changed);
    assert.equal(await ownerOf('/etc/svc/svc.json'), 'svc:svc 600');
  });

  test('what a restart does not mend is not tried again', async () => {
    const good = await done('cat /etc/svc/svc.json');
    await write('{ "channels": 7 }');
    await machine.run('systemctl restart svc');
    await until('svc to have failed', async () => (await stateOf('active')) === 'failed');
    assert.deepEqual([await unit('ExecMainStatus'), await unit('NRestarts')], ['78', '0']);
    await write(good);
    await done('mv /etc/credstore/svc /etc/credstore/away');
    await machine.run('systemctl start svc');
    await until('svc to have failed', async () => (await stateOf('active')) === 'failed');
    assert.deepEqual([await unit('ExecMainStatus'), await unit('NRestarts')], ['243', '0']);
    await done('mv /etc/credstore/away /etc/credstore/svc');
    await done('systemctl start svc');
    await listens();
    await talk();
  });

  test('killed, it comes back, and answers what it had accepted', async () => {
    const before = receiver.received.length;
    const held = Promise.withResolvers<void>();
    await model.script({ answer: 'never seen', after: held.promise });
    const asked = model.calls.length;
    await say('hello');
    await model.call(asked);
    await model.script({ answer: 'after the kill' });
    await done('systemctl kill --signal KILL svc');
    held.resolve();
    assert.equal((await receiver.waitFor(before + 1))[before]!.body['text'], 'after the kill');
    assert.equal(await unit('NRestarts'), '1');
    await model.script({ answer: 'hello yourself' });
  });

  test('told to stop, it finishes what it has in hand', async () => {
    const before = receiver.received.length;
    const held = Promise.withResolvers<void>();
    const asked = model.calls.length;
    await model.script({ answer: 'late but here', after: held.promise });
    await say('hello');
    await model.call(asked);
    const stopped = done('systemctl stop svc');
    await until('the end to be on its way', async () => (await stateOf('active')) !== 'active');
    held.resolve();
    await stopped;
    assert.equal((await receiver.waitFor(before + 1))[before]!.body['text'], 'late but here');
    assert.deepEqual([await unit('Result'), await unit('ExecMainStatus')], ['success', '0']);
    await model.script({ answer: 'hello yourself' });
  });

  test('a port below 1024 takes the line that the unit names', async () => {
    const [unitPort, low] = [port, 1021];
    const good = await done('cat /etc/svc/svc.json');
    await write(good.replace(`127.0.0.1:${unitPort}`, `127.0.0.1:${low}`));
    await machine.run('systemctl start svc');
    await until('svc to have failed', async () => (await stateOf('active')) === 'failed');
    assert.equal(await unit('ExecMainStatus'), '78');
    const told = await done('cat /usr/lib/systemd/system/svc.service');
    const lines = [...told.matchAll(/^# {3}(\[Service\]|\w+=(?:CAP_\w+|no))$/gm)].map(
      ([, one]) => one,
    );
    assert.equal(lines.length, 4);
    const edit = '/etc/systemd/system/svc.service.d/override.conf';
    await done(`mkdir ${edit.replace(/\/[^/]+$/, '')} && cat >${edit}`, `${lines.join('\n')}\n`);
    await done('systemctl daemon-reload && systemctl start svc');
    port = low;
    await listens();
    await talk();
    await done(`rm -r ${edit.replace(/\/[^/]+$/, '')} && systemctl stop svc`);
    await done('systemctl daemon-reload');
    await write(good);
    port = unitPort;
  });

  test('an upgrade starts what it stopped, and nothing else', async () => {
    await done('chmod 0700 /etc/svc && dpkg --install /root/svc.deb');
    assert.equal(await stateOf('active'), 'inactive');
    assert.equal(await ownerOf('/etc/svc'), 'svc:svc 700', 'as the administrator has it');
    await done('cat >/var/lib/svc/svc.db', kept());
    await done('rm -f /var/lib/svc/svc.db-*; systemctl start svc');
    await listens();
    const [before, pid] = [await messages(), await unit('MainPID')];
    assert.ok(before > 0);
    await done('dpkg --install /root/svc.deb');
    await listens();
    assert.notEqual(await unit('MainPID'), pid);
    assert.deepEqual([await stateOf('enabled'), await messages()], ['enabled', before]);
    await talk();
  });

  test('a removal takes nothing that is a person’s, and what comes back goes on', async () => {
    const before = await messages();
    await done('dpkg --remove svc');
    assert.equal(await isThere('/usr/lib/svc'), false);
    await assert.rejects(fetch(at('/healthz')));
    await done('getent passwd svc');
    for (const path of ['/etc/svc/svc.json', '/var/lib/svc/svc.db']) {
      assert.equal(await isThere(path), true, path);
    }
    assert.equal(await done('cat /etc/credstore/svc/WEBHOOK_SECRET'), secret);
    await done('mv /etc/credstore/svc /etc/credstore/away');
    await done('dpkg-statoverride --add root adm 0750 /etc/credstore/svc');
    await done('dpkg --install /root/svc.deb');
    assert.deepEqual([await stateOf('enabled'), await stateOf('active')], ['disabled', 'inactive']);
    assert.equal(await ownerOf('/etc/credstore/svc'), 'root:adm 750', 'as the administrator says');
    await done('mv /etc/credstore/away/* /etc/credstore/svc && rmdir /etc/credstore/away');
    await done('systemctl enable --now svc');
    await listens();
    assert.equal(await messages(), before);
    await talk();
  });

  test('a purge takes all of it, also from under the service', async () => {
    await done('dpkg --purge svc');
    const paths = ['/etc/svc', '/var/lib/svc', '/var/cache/svc', '/etc/credstore/svc'];
    for (const path of [...paths, '/run/svc-was-running']) {
      assert.equal(await isThere(path), false, path);
    }
    assert.notEqual((await machine.run('getent passwd svc')).code, 0);
    assert.equal(await done('find /etc/systemd/system -name "svc*"'), '');
  });

  function kept(): Buffer {
    const former = keptReleases().findLast((release) => release.version !== version);
    return readFileSync(join(former!.folder, 'svc.db'));
  }
}
