/**
 * All that the steps do and see outside: one object, which both faces share. It looks, asks, writes
 * and starts by the pieces that svc is made of, and says what it found as plain data.
 */
import type { FoundSecret } from '../../src/config/found-secret.ts';
import { explainKeychain } from '../../src/app/keychain.ts';
import { endsWithin } from '../../src/lib/lifetime.ts';
import { findPort } from '../../src/lib/loopback-port.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Setup } from '../../src/app/run.ts';
import type { Keychain, ServiceSecrets } from '../../src/secrets/secrets.ts';
import { usualPlace } from './document.ts';
import { lookAtFile } from './file-look.ts';
import { askModel } from './model-question.ts';
import { lookForModels } from './model-search.ts';
import { PracticeModel } from './practice.ts';
import { RunningService } from './running.ts';
import { databaseFor, isOfUnit } from '../../src/app/service-place.ts';
import type { Pouch, SetupWorld } from './session.ts';
import type { SetupEnd } from './setup.ts';
import type { Effect, Found, PlaceFound } from './state.ts';
import { identify } from './token-question.ts';
import { writeAll } from './writing.ts';

export type WorldOptions = {
  /** Absolute. */
  readonly file: string;
  /** The same as a person would type it. */
  readonly shown: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly lookup: ServiceSecrets;
  readonly keychain: Keychain;
  readonly version: string;
  readonly webRoot: URL;
  /** Of the service that is started. */
  readonly log: Log;
  /** Ends a service that was started. */
  readonly stop: AbortSignal;
  readonly abandon: AbortSignal;
  /** Is told of each turn of that service. */
  readonly onTurn?: Setup['onTurn'];
  /** Where the API of a messenger is; null: the platform's own. */
  readonly platform: string | null;
  /** What differs in tests. */
  readonly places?: Partial<Places>;
};

/** Where is looked, and for how long. */
export type Places = {
  /** Of a runtime that speaks the hosted API on this machine. */
  readonly hostedHere: string;
  readonly lookMs: number;
  /** Taken where they are free; else ten more, or twenty … */
  readonly ports: { readonly webhook: number; readonly replies: number; readonly admin: number };
};

/** LM Studio's own port: lmstudio.ai/docs/developer/core/server. */
const usualPlaces: Places = {
  hostedHere: 'http://127.0.0.1:1234/v1',
  lookMs: 1_000,
  ports: { webhook: 8090, replies: 8091, admin: 2112 },
};

export function createSetupWorld(options: WorldOptions): SetupWorld {
  return new World(options);
}

/** Longer than any drain. */
const closeMs = 40_000;

class World implements SetupWorld {
  readonly #options: WorldOptions;
  readonly #places: Places;
  readonly #practice = new PracticeModel();
  readonly #service: RunningService;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#places = { ...usualPlaces, ...options.places };
    this.#service = new RunningService(options);
  }

  get served(): Promise<SetupEnd> {
    return this.#service.served;
  }

  async act(effect: Effect, pouch: Pouch, signal: AbortSignal): Promise<Found> {
    const { kind: of } = effect;
    const { env, lookup } = this.#options;
    switch (of) {
      case 'look_at_file':
        return { of, file: await lookAtFile(this.#options) };
      case 'look_for_models': {
        return { of, models: await lookForModels({ env, lookup, ...this.#places }, signal) };
      }
      case 'ask_model': {
        const practice = effect.model.kind === 'practice' ? await this.#practice.url() : null;
        const asking = { ...this.#options, pouch, practice };
        return { of, outcome: await askModel(effect.model, asking, signal) };
      }
      case 'identify':
        return { of, token: await identify(effect.type, { ...this.#options, pouch }, signal) };
      case 'look_at_place':
        return { of, place: await this.#lookAtPlace(effect, signal) };
      case 'write':
        return { of, written: await writeAll(effect.plan, { ...this.#options, pouch }, signal) };
      case 'start': {
        const problem = await this.#service.start(pouch);
        return { of, problem, liveView: this.#service.liveView };
      }
      case 'hear':
        return { of, heard: await this.#service.hear(effect, signal) };
      case 'let_in':
        return { of, heard: await this.#service.letIn(effect.code, effect.name) };
      default:
        return effect satisfies never;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endsWithin(this.#service[Symbol.asyncDispose](), closeMs);
    await this.#practice[Symbol.asyncDispose]();
  }

  async #lookAtPlace(
    { names, practises }: Extract<Effect, { readonly kind: 'look_at_place' }>,
    signal: AbortSignal,
  ): Promise<PlaceFound> {
    const { file, keychain, lookup, platform } = this.#options;
    const [state, found] = await Promise.all([keychain.state(signal), lookup.find(names, signal)]);
    const { ports } = this.#places;
    const replies = await freeAddress(ports.replies, usualPlaces.ports.replies);
    const fault = state === 'ready' ? null : explainKeychain(state);
    return {
      keychain: state,
      database: databaseFor(file),
      isUnit: isOfUnit(file),
      told: fault && `${fault.message} ${fault.remedy}`,
      set: names.filter((name) => isValue(found.get(name))),
      bind: await freeAddress(ports.webhook, usualPlaces.ports.webhook),
      replies: replies === null ? usualPlace.replies : `http://${replies}/reply`,
      admin: await freeAddress(ports.admin, usualPlaces.ports.admin),
      platform,
      practice: practises ? await this.#practice.url() : null,
    };
  }
}

function isValue(found: FoundSecret | undefined): boolean {
  return found?.kind === 'value';
}

/** Of each listener the next port to try: what stands in the file is no port that is lent out. */
const portStep = 10;
const portsTried = 10;

/** Null: the default is free, or no port is. */
async function freeAddress(wished: number, usual: number): Promise<string | null> {
  for (let tried = 0; tried < portsTried; tried++) {
    const port = await findPort(wished + tried * portStep, true);
    if (port !== null) return port === usual ? null : `127.0.0.1:${port}`;
  }
  return null;
}
