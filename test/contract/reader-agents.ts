import assert from 'node:assert/strict';
import type { Page } from '../../src/domain/page.ts';
import type { ToolUse, ToolUseRow } from '../../src/domain/tool-use.ts';
import { accept, effects, hook, oneIn, said } from './ledger/kit.ts';
import type { It, ReaderCase } from './reader.ts';

/** Reads of the data that agents store. */
export const agentReads: readonly ReaderCase[] = [
  [
    'notes are told with the conversation in which they were made',
    async (it, { durable }) => {
      await accept(it, said('ada', 'hello'));
      const claim = await oneIn(it);
      const { channel, conversation } = claim.message;
      const note = (text: string) => ({ at: 1_000, text });
      const scopes = [{ kind: 'conversation' }, { kind: 'brain', brain: 'main' }] as const;
      const notes = scopes.flatMap((scope) =>
        ['one', 'two'].map((text) => {
          return {
            kind: 'add',
            scope,
            note: { ...note(`${text} of ${scope.kind}`), sensitivity: 'private' },
            notesMax: 9,
          } as const;
        }),
      );
      await it.ledger.complete(claim, { ...effects(claim, ['hi']), notes });
      const of = { kind: 'conversation', channel, conversation } as const;
      const told = (text: string) => (durable ? [{ channel, conversation, ...note(text) }] : []);
      assert.deepEqual(await it.reader.notes(of), [
        ...told('one of conversation'),
        ...told('two of conversation'),
      ]);
      const ofMain = await it.reader.notes({ kind: 'brain', brain: 'main' });
      assert.deepEqual(ofMain, [...told('one of brain'), ...told('two of brain')]);
      assert.deepEqual(await it.reader.notes({ kind: 'brain', brain: 'other' }), []);
    },
  ],
  [
    'uses of tools come newest first, a page at a time, each once, without arguments',
    async (it, { durable }) => {
      const keys: string[] = [];
      for (let at = 0; at < 7; at++) keys.unshift(await useOf(it));
      const seen: string[] = [];
      let after: string | null = null;
      do {
        const page: Page<ToolUseRow> = await it.reader.toolUses({ after, limit: 3 });
        assert.ok(page.rows.length <= 3);
        assert.ok(page.rows.every((row) => !('arguments' in row) && !('told' in row)));
        seen.push(...page.rows.map(({ key }) => key));
        after = page.next;
      } while (after !== null);
      assert.deepEqual(seen, keys);
      const use = await it.reader.toolUse(keys[3]!);
      assert.deepEqual([use?.key, use?.tool, use?.ms], [keys[3], 'calc', 1.5]);
      assert.deepEqual([use?.mode, use?.rule, use?.outcome], ['allow', 'governance[0]', 'done']);
      assert.deepEqual([use?.channel, use?.messageId], [hook, keys[3]!.split(':')[0]]);
      assert.equal(use?.arguments, durable ? '{"expression":"6*7"}' : null);
      assert.equal(use?.conversation, durable ? 'ada' : '');
      assert.equal(use?.told ?? null, durable ? found : null);
      const text = await it.reader.storyText(keys[3]!.split(':')[0]!);
      assert.deepEqual(text?.tools ?? null, durable ? [use] : null);
      assert.equal(await it.reader.toolUse('nobody'), null);
      for (const place of ['', 'nonsense', 'W10', 'WzFd', 'WyJub2JvZHkiXQ']) {
        const page = await it.reader.toolUses({ after: place, limit: 3 });
        assert.ok(page.rows.length === 0 || (durable && place === 'WzFd'), place);
      }
    },
  ],
];

/** The tool's result for the model. */
const found = '42, \0 they say';

/** An answered message in whose turn a tool was used. @returns the key of that use */
async function useOf(it: It): Promise<string> {
  await accept(it, said('ada', 'hello'));
  const claim = await oneIn(it);
  const key = `${claim.message.id}:1:0`;
  const use: ToolUse = {
    key,
    at: Date.now(),
    ms: 1.5,
    tool: 'calc',
    mode: 'allow',
    rule: 'governance[0]',
    outcome: 'done',
    arguments: '{"expression":"6*7"}',
  };
  await it.ledger.complete(claim, {
    ...effects(claim, ['42']),
    toolUses: [{ ...use, told: found }],
  });
  return key;
}
