/** Talks to a svc until its database holds data of every kind, and kills it during its work. */
import assert from 'node:assert/strict';
import type { Program } from '../support/program.ts';
import {
  answerTo,
  note,
  noted,
  pairedName,
  said,
  messenger,
  webhook,
  type Expected,
} from './said.ts';
import type { World } from './world.ts';

/** Longer than any pause that holds up later replies, so the reply is parked. */
const parkedSeconds = 80;
const tomsId = 4_711_001;

/**
 * Talks as above. `found.ts` looks for the names of its parts.
 * @param world whose model does not answer Cy's message
 * @param program not ready yet; dead afterwards
 */
export async function talk(world: World, program: Program): Promise<void> {
  const { receiver } = world;
  await program.saw('"listening"');
  let replies = 0;
  const exchange = async (conversation: string, text: string, answer: RegExp): Promise<void> => {
    await world.say(conversation, text);
    assert.match(await world.reply(++replies), answer);
  };
  const whole = (text: string): RegExp => new RegExp(`^${RegExp.escape(text)}$`);
  await exchange('ada', said.ada[0], whole(noted));
  await exchange('ada', said.ada[1], whole(answerTo(said.ada[1])));
  await exchange('bob', said.bob[0], whole(answerTo(said.bob[0])));
  await exchange('bob', '/new', /./);
  await exchange('bob', said.bob[1], whole(answerTo(said.bob[1])));
  await pair(world);
  await world.untilLeft('nothing is on its way', 'deliveries?state=waiting', 0);

  receiver.script.push({ status: 503, headers: { 'retry-after': String(parkedSeconds) } });
  await world.say('eve', said.eve[0]);
  await world.untilLeft('a reply is parked', 'deliveries?state=deferred', 1);
  receiver.script.push(410);
  await world.say('fay', said.fay[0]);
  await world.untilLeft('one is dead', 'dead-letters', 1);
  // The receiver refuses every attempt until the end.
  receiver.script.push(...Array.from({ length: 100 }, () => 503));
  await world.say('dee', said.dee[0]);
  await world.untilLeft('one is to be tried again', 'deliveries?state=deferred', 2);
  const asked = world.model.calls.length;
  for (const text of said.cy) await world.say('cy', text);
  await world.model.call(asked);
  program.child.kill('SIGKILL');
  await program.ended;
}

/** Lets a stranger in by a code, and waits for the answer. */
async function pair(world: World): Promise<void> {
  const { telegram } = world;
  const tom = telegram.person(pairedName, { id: tomsId });
  const chat = telegram.privateChat(tom);
  telegram.say(chat, said.tom[0], { from: tom });
  const [first] = await telegram.waitForSent(1);
  const [, code = ''] = /: ([A-Z0-9]{8})\./.exec(String(first!.message.text)) ?? [];
  await world.ask(`pairings/${code}`, 'POST');
  telegram.say(chat, said.tom[1], { from: tom });
  const [, second] = await telegram.waitForSent(2);
  assert.equal(second!.message.text, answerTo(said.tom[1]));
}

/** Returns the expected content of the database. */
export function left(facts: Pick<Expected, 'version' | 'schema'>): Expected {
  const turn = (text: string): readonly [string, string] => [text, answerTo(text)];
  const one = (conversation: 'eve' | 'fay' | 'dee') => {
    const [text] = said[conversation];
    return { channel: webhook, conversation, sessions: 1, turns: [turn(text)] };
  };
  const reply = (conversation: 'eve' | 'fay' | 'dee') => {
    return { conversation, text: answerTo(said[conversation][0]) };
  };
  return {
    ...facts,
    // Bob has one more, which begins a session.
    messages: Object.values(said).flat().length + 1,
    history: [
      {
        channel: webhook,
        conversation: 'ada',
        sessions: 1,
        turns: [[said.ada[0], noted], turn(said.ada[1])],
      },
      { channel: webhook, conversation: 'bob', sessions: 2, turns: said.bob.map(turn) },
      {
        channel: messenger,
        conversation: String(tomsId),
        sessions: 1,
        turns: [turn(said.tom[1])],
      },
      one('eve'),
      one('fay'),
      one('dee'),
    ],
    waiting: said.cy.map((text) => ({ conversation: 'cy', text })),
    due: [reply('dee')],
    parked: [reply('eve')],
    deadLetters: [{ ...reply('fay'), reason: 'gone' }],
    notes: [{ conversation: 'ada', text: note }],
    toolUses: [{ conversation: 'ada', tool: 'memory_note' }],
    paired: [{ sender: String(tomsId), name: pairedName }],
  };
}
