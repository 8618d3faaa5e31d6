/**
 * The routes of a webhook and of a bot change again and again while people talk. Each message is
 * answered by the brain of the route that it had when svc accepted it. A model has the name of its
 * brain, and writes it into the answer.
 */
import assert from 'node:assert/strict';
import { untilAll } from '../support/waiting.ts';
import { assertKept, audit, leftIn } from './audit.ts';
import { auditTalk } from './hot-reload/stage.ts';
import { stopAsAsked } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { openStage, speakers } from './routes-reload/stage.ts';

/** The least number of messages accepted under each revision. */
const messagesEach = 40;

export const routesReload: Proof = {
  name: 'routes-reload',
  title:
    'Routes that change under load, at a webhook and on Telegram: no accepted message is lost, ' +
    'and each is answered by the brain of the route that it was accepted under',
  unit: 'changes of routes',
  sizes: { change: 12, nightly: 300 },
  async run(count, seed, say) {
    await using stage = await openStage(seeded(seed));
    const { crowd, bot, receiver, revisions } = stage;
    await using program = stage.spawn();
    await program.saw('"listening"');
    const accepted = { count: 0 };
    crowd.onAccepted = () => void accepted.count++;
    const talkingIsOver = Promise.withResolvers<void>();
    crowd.begin(speakers);
    const talking = bot.talk.until(talkingIsOver.promise);
    for (let number = 1; number <= count; number++) {
      const aim = accepted.count + messagesEach;
      while (accepted.count < aim) await crowd.next200();
      await stage.change();
      if (number % 50 === 0) say(`${number} changes, ${accepted.count} messages`);
    }
    talkingIsOver.resolve();
    await Promise.all([crowd.end(), talking.then(() => bot.talk.untilAnswered())]);
    const { messages } = crowd;
    await untilAll(messages.length, () => {
      const replied = new Set(receiver.received.map(({ body }) => body['in_reply_to']));
      return messages.filter(({ id }) => replied.has(id)).length;
    });
    await stopAsAsked(program);
    const answers = stage.answers();
    const wrong = answers.filter((one) => !revisions.allows(one));
    assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} answers by the wrong brain`);
    const figures = audit(crowd, receiver.received);
    assertKept({ ...figures, ...leftIn(stage.database) });
    const odd = auditTalk(bot.talk, { telegram: bot });
    assert.deepEqual(odd, { unanswered: 0, twice: 0, disordered: 0, odd: 0 });
    const kept = answers.filter((one) => revisions.hasKept(one)).length;
    assert.ok(kept > 0, 'no message waited while its route changed');
    return {
      kind: 'proved',
      figures: {
        messages: figures.messages,
        'on Telegram': bot.talk.said.length,
        lost: figures.lost,
        'by the wrong brain': wrong.length,
        'by the brain of a former route': kept,
        'by a command': answers.filter(({ message }) => message.hasCommand).length,
      },
    };
  },
};
