/** Runs many orders at a time while svc is killed again and again, and audits them at the end. */
import assert from 'node:assert/strict';
import { assertKept, figuresOf } from './audit.ts';
import { Deeds, Life, ways, type Order } from './life.ts';
import { Scene, type Backend } from './scene.ts';
import { Strikes } from './strikes.ts';
import { until } from '../../support/waiting.ts';

export type Campaign = {
  readonly backend: Backend;
  readonly random: () => number;
  readonly orders: number;
  /** Null: nothing is killed. Else as in `StrikesParts`. */
  readonly betweenMs: number | null;
  readonly say: (line: string) => void;
};

type Figures = ReturnType<typeof figuresOf> & { readonly kills: number };

const atOnce = 6;

export async function campaign(plan: Campaign): Promise<Figures> {
  await using scene = await Scene.open(plan.backend, plan.random);
  const deeds = new Deeds();
  try {
    return await run(scene, deeds, plan);
  } catch (error) {
    const logs = scene.services.instances.map((one) => one.log()).join('\n');
    const left = await scene.told();
    const written = `there is\n${left}\nthey have written\n${logs}`;
    const message = `${plan.backend}: ${(error as Error).message}\n${written}`;
    throw new Error(message, { cause: error });
  }
}

async function run(scene: Scene, deeds: Deeds, plan: Campaign): Promise<Figures> {
  const { services, office, people } = scene;
  const { betweenMs, say, orders } = plan;
  const under = { way: 0 };
  const working = work(scene, deeds, plan, under);
  // The first error of the two is the one that is thrown.
  working.catch(() => {});
  const underWay = (): number => under.way;
  const killsMax = Math.ceil(orders / 2);
  const strikes = betweenMs === null ? null : { scene, deeds, underWay, betweenMs, killsMax };
  const striking = strikes === null ? null : new Strikes(strikes);
  await Promise.all([working, striking?.until(working)]);
  say(`${orders} orders on ${plan.backend}, ${striking?.kills ?? 0} kills`);
  for (const one of services.instances) await one.untilUp();
  await until('all is settled', () => isSettled(scene));
  people.look();
  const [approvals, toolUses] = [await office.all(), await office.toolUses()];
  await services.end();
  assert.deepEqual(await services.left(), { buried: 0, unsettled: 0 });
  people.look();
  const { told, strange, lateAnswers } = people;
  const kills = striking?.kills ?? 0;
  const seen = { runs: scene.till.runs, told, strange, lateAnswers };
  const evidence = { approvals, toolUses, deeds, unknownMax: kills * atOnce, ...seen };
  assertKept(evidence);
  return { ...figuresOf(evidence), kills };
}

async function isSettled({ services, office, people }: Scene): Promise<boolean> {
  if (people.telegram.pending > 0) return false;
  const { unsettled } = await services.left();
  return unsettled === 0 && (await office.open()).length === 0;
}

async function work(
  scene: Scene,
  deeds: Deeds,
  { random, orders, betweenMs, say }: Campaign,
  under: { way: number },
): Promise<void> {
  const hasNobody = betweenMs !== null;
  let next = 0;
  const worker = async (at: number): Promise<void> => {
    const group = scene.people.group(`Group ${at}`);
    for (let number = next++; number < orders; number = next++) {
      // The ways take turns, so that the smallest size has all of them.
      const way = ways[number % (hasNobody ? ways.length : ways.length - 1)]!;
      const order: Order = {
        number,
        way,
        verdict: random() < 0.7 ? 'approved' : 'refused',
        changes: random() < 0.2,
        group: random() < 0.3 ? group : null,
      };
      await new Life(scene, deeds, order).run();
      if (number % 50 === 49) say(`${number + 1} orders`);
    }
    under.way--;
  };
  under.way = Math.min(atOnce, orders);
  await Promise.all(Array.from({ length: under.way }, (_, at) => worker(at)));
}
