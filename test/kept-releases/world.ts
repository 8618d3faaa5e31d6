/** The neighbours of a kept release's svc, on addresses of a test, and requests to that svc. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import { startFakeTelegram, type FakeTelegram } from '../fake/telegram.ts';
import { type Outcome, runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, programOf, scratch, secret, type Program } from '../support/program.ts';
import { launcher, runProgram } from '../support/run-svc.ts';
import { placed, type Places } from './document.ts';
import { model } from './said.ts';
import { until } from '../support/waiting.ts';

export type Backend = 'sqlite' | 'postgres';

const adminToken = 'an-admin-token-of-the-releases';

/** A messenger's first number: later ones are higher than those of a kept release. */
export type Begun = { readonly updatesFrom: number; readonly hung?: readonly string[] };

export class World implements AsyncDisposable {
  readonly folder: string;
  readonly places: Places;
  readonly model: FakeModel;
  readonly receiver: Receiver;
  readonly telegram: FakeTelegram;
  /** Environment variables of svc. */
  readonly env: Record<string, string>;
  readonly #own: AsyncDisposableStack;

  private constructor(
    own: AsyncDisposableStack,
    parts: Pick<World, 'folder' | 'places' | 'model' | 'receiver' | 'telegram'>,
  ) {
    this.#own = own;
    this.folder = parts.folder;
    this.places = parts.places;
    this.model = parts.model;
    this.receiver = parts.receiver;
    this.telegram = parts.telegram;
    const { token } = parts.telegram;
    this.env = { WEBHOOK_SECRET: secret, TELEGRAM_TOKEN: token, ADMIN_TOKEN: adminToken };
  }

  static async open({ updatesFrom, hung }: Begun): Promise<World> {
    await using own = new AsyncDisposableStack();
    const { path: folder } = own.use(await scratch());
    const [model_, receiver] = [
      own.use(await startFakeOllama(model(hung))),
      own.use(await startReceiver()),
    ];
    const telegram = own.use(await startFakeTelegram());
    telegram.restartUpdateIds(updatesFrom);
    const at = (url: string): string => new URL(url).host;
    const places: Places = {
      webhook: `127.0.0.1:${await freePort()}`,
      admin: `127.0.0.1:${await freePort()}`,
      model: at(model_.url),
      receiver: at(receiver.url),
      messenger: at(telegram.url),
    };
    return new World(own.move(), { folder, places, model: model_, receiver, telegram });
  }

  get database(): string {
    return join(this.folder, 'svc.db');
  }

  get file(): string {
    return join(this.folder, 'svc.json');
  }

  /**
   * Writes a configuration file with the addresses of this world.
   * @param url of the server's database; null: the file that the text names
   */
  async configure(text: string, url: string | null): Promise<void> {
    const document = JSON.parse(placed(text, this.places)) as { storage: object };
    if (url !== null) {
      const { path: _, ...others } = document.storage as { path: string };
      document.storage = { url_env: 'DATABASE_URL', ...others };
      this.env['DATABASE_URL'] = url;
    }
    await writeFile(this.file, `${JSON.stringify(document, null, 2)}\n`);
  }

  /** Starts svc in a process of its own. @param code the launcher of the release */
  start(code: string = launcher): Program {
    const args = [code, 'serve', '--config', this.file];
    const env = { HOME: this.folder, ...this.env };
    return programOf(runProgram(process.execPath, args, { env }));
  }

  /** Starts svc, which must end by itself. @returns its exit code and its output */
  async refused(): Promise<{ readonly code: number | string; readonly log: string }> {
    await using program = this.start();
    const served = program.saw('"listening"').then(
      () => 'it serves',
      () => program.ended,
    );
    const code = await Promise.race([program.ended, served]);
    return { code, log: program.log() };
  }

  /** Starts svc in this process, and waits until it listens. */
  serveHere() {
    return serveHere(this.file, Number(this.places.webhook.split(':')[1]), this.env);
  }

  /** Runs another command of svc. */
  svc(...args: readonly string[]): Promise<Outcome> {
    return runCommand([...args, '--config', this.file], { cwd: this.folder, env: this.env });
  }

  /** Sends a message to the webhook. */
  async say(conversation: string, text: string): Promise<void> {
    const message = { sender_id: conversation, conversation_id: conversation, text };
    const { status } = await post(`http://${this.places.webhook}/webhook`, message);
    assert.equal(status, 200);
  }

  /** Returns the text of the n-th reply to the webhook's receiver, from 1. */
  async reply(n: number): Promise<string> {
    return String((await this.receiver.waitFor(n))[n - 1]!.body['text']);
  }

  async ask(path: string, method = 'GET'): Promise<unknown> {
    const headers = { authorization: `Bearer ${adminToken}` };
    const url = `http://${this.places.admin}/api/v1/${path}`;
    const answer = await fetch(url, { method, headers });
    assert.equal(answer.status, 200, `${method} ${path}`);
    return answer.json();
  }

  /** Returns the rows of a list of the admin API. */
  async rows<Row>(path: string): Promise<readonly Row[]> {
    return ((await this.ask(path)) as { rows: readonly Row[] }).rows;
  }

  /** Waits until a list of the admin API has this length. */
  untilLeft(what: string, path: string, count: number): Promise<void> {
    return until(what, async () => (await this.rows(path)).length === count);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own[Symbol.asyncDispose]();
  }
}
