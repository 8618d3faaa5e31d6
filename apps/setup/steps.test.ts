/** Searches every path through the steps, over all choices and all results. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { outcomes, walkAll, type Seen } from '../../test/desktop/setup-walk.ts';
import { channelTypes, kindOf } from '../../src/channels/registry.ts';
import { textOf } from '../../src/config/templates/templates.ts';
import { validateText } from '../../src/config/validate.ts';
import type { Frontend } from './setup.ts';

for (const frontend of ['terminal', 'window'] as const) {
  suite(`every way through the first run in a ${frontend}`, () => everyWay(frontend));
}

function everyWay(frontend: Frontend): void {
  const seen = walkAll(frontend);
  const all = [...seen.values()];
  const isOver = ({ state }: Seen): boolean => state.step.at === 'over';
  const before = all.filter(({ state }) => !/^(?:write|start|first|over)$/.test(state.step.at));

  test('the search sees all places, and all kinds of wishes', () => {
    const places = new Set(all.map(({ state }) => state.step.at));
    assert.equal(places.size, 14);
    const wishes = new Set(all.flatMap(({ state }) => state.effect?.kind ?? []));
    assert.deepEqual([...wishes].toSorted(), Object.keys(outcomes).toSorted());
    assert.ok(all.length > 500, `${all.length} states`);
  });

  test('from everywhere the end can be reached, and nobody waits for nothing', () => {
    const ends = new Set([...seen].filter(([, one]) => isOver(one)).map(([key]) => key));
    for (let size = 0; size !== ends.size;) {
      size = ends.size;
      for (const [key, { to }] of seen) if (to.some((one) => ends.has(one.key))) ends.add(key);
    }
    const stuck = [...seen.keys()].filter((key) => !ends.has(key));
    assert.deepEqual(stuck, []);
    for (const { state, page } of all) {
      if (state.step.at === 'over') continue;
      const waits = state.effect !== null;
      assert.equal(page.work !== null, waits, `work is told while it goes on: ${page.title}`);
      if (!waits) assert.ok(page.choices.length > 0, page.title);
    }
  });

  test('nothing is written before the person says so at the last step', () => {
    for (const { state, to } of all) {
      for (const { key, by } of to) {
        const after = seen.get(key)!.state;
        if (after.effect?.kind !== 'write' || after.effect === state.effect) continue;
        assert.equal(state.step.at, 'review');
        assert.match(by, /^(?:start|write)$/);
      }
    }
  });

  test('before that, every page of a terminal can be left, and leaving writes nothing', () => {
    for (const { page, to } of before) {
      if (frontend === 'window') {
        assert.ok(!page.choices.some(({ role }) => role === 'leave'));
        continue;
      }
      assert.ok(
        page.choices.some(({ role }) => role === 'leave'),
        page.title,
      );
      const { state } = seen.get(to.find(({ by }) => by === 'leave')!.key)!;
      assert.deepEqual(state.step, { at: 'over', end: { kind: 'left' } });
      assert.equal(state.effect, null);
    }
  });

  test('every page has a way on for which nothing needs to be typed', () => {
    for (const { state, page } of before) {
      if (state.step.at === 'file' || state.step.at === 'keep') continue;
      const easy = page.choices.filter(({ role, takes }) => {
        const needed = page.fields.filter((field) => {
          return takes.includes(field.name) && !field.isOptional && field.value === '';
        });
        return (role === 'forward' || role === 'skip') && needed.length === 0;
      });
      const isVendorUnknown = page.fields.some(({ name, value }) => {
        return name === 'model_id' && value === '';
      });
      assert.ok(easy.length > 0 || isVendorUnknown, page.title);
    }
  });

  test('back leads to the place before, which can be passed again', () => {
    const ways = all.flatMap(({ state, to }) =>
      to.filter(({ by }) => by === 'back').map(({ key }) => [state, seen.get(key)!.state] as const),
    );
    assert.ok(ways.length > 100);
    for (const [state, after] of ways) {
      assert.equal(after.step.at, state.trail.at(-1)!.step.at);
      assert.equal(after.effect, null);
      assert.equal(after.trail.length, state.trail.length - 1);
    }
  });

  test('a step stands on the trail once at most', () => {
    for (const { state } of all) {
      const steps = state.trail.map((place) => place.step.at);
      assert.equal(new Set(steps).size, steps.length, steps.join(' '));
    }
  });

  test('whatever is chosen, the file that would be written has no problem', () => {
    const plans = all.flatMap(({ state }) =>
      state.effect?.kind === 'write' ? [state.effect.plan] : [],
    );
    const texts = new Set(plans.map((plan) => textOf(plan.document)));
    assert.ok(texts.size > 20, `${texts.size} files`);
    for (const text of texts) {
      const { problems } = validateText(text);
      const severe = problems.filter(({ code }) => code !== 'access_open');
      assert.deepEqual(severe, [], text);
    }
    const types = channelTypes.map((type) => kindOf(type).token.variable);
    for (const name of types)
      assert.ok(
        [...texts].some((text) => text.includes(name)),
        name,
      );
  });

  test('a bot of a file that is there is called by its name', () => {
    const texts = all.flatMap(({ page }) => page.lines.map((line) => JSON.stringify(line)));
    assert.ok(texts.some((text) => text.includes('Its channels: Webhook, shop.')));
  });

  test('a file that is there is changed or replaced only with a backup of it', () => {
    for (const { state } of all) {
      if (state.effect?.kind !== 'write') continue;
      assert.equal(state.effect.plan.replaces, state.facts.file?.kind === 'there');
    }
  });

  test('a window is not told of what there is at a terminal alone', () => {
    const said = all
      .map(({ page }) => JSON.stringify(page))
      .filter((words) => {
        return /svc init|svc serve|this command|Ctrl-C|in the environment|another terminal/.test(
          words,
        );
      });
    if (frontend === 'window') assert.deepEqual(said, []);
    else assert.ok(said.length > 0);
  });

  test('only a window goes on by itself, and once all is kept that the file names', () => {
    const ends = all.filter(isOver);
    const kinds = new Set(ends.map(({ state }) => 'end' in state.step && state.step.end.kind));
    const expected =
      frontend === 'window' ? ['goes_on', 'serving'] : ['left', 'serving', 'written'];
    assert.deepEqual(kinds, new Set(expected));
    if (frontend === 'terminal') return;
    for (const { state, page, to } of ends) {
      assert.ok(state.step.at === 'over');
      const isHeld = state.step.end.kind === 'serving';
      assert.equal(page.choices.length, isHeld ? 1 : 0);
      if (!isHeld) continue;
      const { draft, facts } = state;
      const isPractice = draft.model?.kind === 'practice';
      assert.ok(isPractice || (facts.written?.unset ?? []).length > 0);
      const after = to.map(({ key }) => seen.get(key)!.state.step);
      assert.deepEqual(after, [{ at: 'over', end: { kind: 'goes_on' } }]);
    }
  });

  test('a file that is written in a window lets the window write', () => {
    for (const { state } of all) {
      if (frontend === 'terminal' || state.effect?.kind !== 'write') continue;
      assert.deepEqual(state.effect.plan.document['admin'], { token_env: 'ADMIN_TOKEN' });
    }
  });

  test('a start is offered only where every secret has a value', () => {
    const reviews = all.filter(({ state }) => state.step.at === 'review');
    const open = reviews.filter(({ page }) => !page.choices.some(({ id }) => id === 'start'));
    assert.ok(open.length > 0 && open.length < reviews.length);
    for (const { page } of open) {
      assert.ok(page.lines.some(({ text }) => /is to be set before a start/.test(text)));
    }
  });
}
