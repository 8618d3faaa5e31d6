import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertOnePass } from '../../test/support/one-pass.ts';
import { thinkingMarks } from './model-habits.ts';
import {
  mayHoldThinking,
  withoutGrowingMark,
  withoutThinkBlock,
  withoutThinking,
} from './think-block.ts';

test('the thinking before an answer goes, and nothing else', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['8', '8'],
    ['<think>hm</think>8', '8'],
    ['\n <think>\nhm\n</think>\n\n8 \n', '8 \n'],
    ['<THINK>hm</Think>8', '8'],
    ['<thinking>hm </think> </thinking>8', '8'],
    ['<reasoning>hm</reasoning><thought>hm</thought> 8', '8'],
    ['<think></think>8', '8'],
    ['<think>hm', ''],
    ['<think>', ''],
    ['', ''],
    ['Use <think>hm</think> like this', 'Use <think>hm</think> like this'],
    ['<thinker>hm</thinker>8', '<thinker>hm</thinker>8'],
    ['8 </think>', '8 </think>'],
  ];
  for (const [text, answer] of cases) assert.equal(withoutThinkBlock(text), answer, text);
});

/** The text of each mark of the table, and its closing mark. */
const written: readonly (readonly [string, string])[] = [
  ['<think>', '</think>'],
  ['<think duration="3s">', '</think>'],
  ['<THINK>', '</Think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<reasoning>', '</reasoning>'],
  ['<seed:think>', '</seed:think>'],
  ['◁think▷', '◁/think▷'],
  ['[THINK]', '[/THINK]'],
  ['<|begin_of_thought|>', '<|end_of_thought|>'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
  ['<|channel>thought', '<channel|>'],
];

test('every mark of the table is among those that are tried', () => {
  for (const { open, close } of thinkingMarks) {
    const mark = new RegExp(`^${open}$`, 'i');
    const found = written.find(([begin, end]) => mark.test(begin) && end === close);
    assert.notEqual(found, undefined, open);
  }
});

test('of each mark the thinking goes, wherever its block begins or ends a line', () => {
  for (const [open, close] of written) {
    const cases: readonly (readonly [string, string])[] = [
      [`${open}hm${close}8`, '8'],
      [`${open}\nhm\n${close}\n\n8`, '8'],
      [`${open}hm${close}\n${open}hm${close}\n8`, '8'],
      [`${open}hm`, ''],
      [`${open}\nhm\n`, ''],
      // The template wrote the opening mark.
      [`hm\n${close}\n\n8`, '8'],
      [`hm\n\nhm\n ${close} \n8\n\n9`, '8\n\n9'],
      [`hm\n${close}\nhm\n${close}\n8`, '8'],
      [`hm\r\n${close}\r\n8`, '8'],
      // After a first word.
      [`Well.\n${open}\nhm\n${close}\n8`, '8'],
      [`Well. ${open}\nhm\n${close}\n8`, '8'],
      [`8\n${open}hm${close}`, '8'],
      [`8\n${open}\nhm`, '8'],
    ];
    for (const [text, answer] of cases) {
      assert.equal(withoutThinking(text).trim(), answer, JSON.stringify(text));
    }
  }
});

test('code in the thinking, or in the answer, hides no end of it', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['I write\n```\nx\n```\n</think>\n8\n```\ny\n```', '8\n```\ny\n```'],
    ['<think>\n```\nx\n</think>\n8\n```\ny\n```', '8\n```\ny\n```'],
    ['I write\n```\nx\n</think>\n8', '8'],
    ['~~~\n```\n</think>\n~~~\n</think>\n8', '8'],
  ];
  for (const [text, answer] of cases) assert.equal(withoutThinking(text).trim(), answer, text);
});

test('of a model that speaks in channels the final one alone is the answer', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>8', '8'],
    ['<|channel|>final<|message|>8<|return|>', '8'],
    ['<|start|>assistant<|channel|>final<|message|>8<|end|>', '8'],
    [
      '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>' +
        'I look.<|end|><|start|>assistant<|channel|>final<|message|>8',
      '8',
    ],
    ['<|channel|>analysis<|message|>hm', ''],
    ['<|channel|>analysis', ''],
    ['<|channel|>commentary to=functions.a <|constrain|>json<|message|>{}<|call|>', ''],
    ['analysisThey ask.assistantfinal8', '8'],
    ['commentaryThey ask.assistantfinal8', '8'],
    ['analysisThey ask.assistantcommentaryI look.assistantfinal8', '8'],
    // A name in code at the beginning of a sentence.
    ['analysisResult is null.', 'analysisResult is null.'],
  ];
  for (const [text, answer] of cases) assert.equal(withoutThinking(text).trim(), answer, text);
});

test('what stands around the answer of a model that thinks goes as well', () => {
  const text =
    '<|begin_of_thought|>hm<|end_of_thought|>\n<|begin_of_solution|>8<|end_of_solution|>';
  assert.equal(withoutThinking(text).trim(), '8');
  const command = '<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>8<|END_RESPONSE|>';
  assert.equal(withoutThinking(command).trim(), '8');
});

test('an answer about the marks is not cut', () => {
  for (const [open, close] of written) {
    const answers = [
      `It ends with ${close}, and then comes the answer.`,
      `It ends with \`${close}\`.`,
      `\`${close}\` is its end.`,
      `${close} is its end.`,
      `- ${close}\n- and so on`,
      `> ${close}`,
      `It is written ${open}hm${close}, and then comes the answer.`,
      `So it looks:\n\n\`\`\`\n${open}\nhm\n${close}\n8\n\`\`\`\n\nThat is all.`,
      `So it looks:\n\n~~~~xml\n${close}\n~~~\n${close}\n~~~~\n`,
      `So it looks:\n\n    hm\n    ${close}\n    8\n\nThat is all.`,
      `So it looks:\n\n\t${close}\n`,
      `So it looks:\n\n    ${open}\n    hm\n    ${close}\n    8\n\nThat is all.`,
      `1. So:\n\n    \`\`\`\n    ${open}\n    hm\n    ${close}\n    \`\`\`\n2. That is all.`,
      `The marks are:\n- ${open}\n- ${close}\n- and so on`,
      `1. ${open}\n2. ${close}\n3. and so on`,
      `> ${open}\n> hm\n> ${close}\n\nThat is all.`,
      `It begins with ${open}\nIt ends with ${close}\nThat is all.`,
    ];
    for (const text of answers) assert.equal(withoutThinking(text), text, text);
  }
  for (const text of ['', 'Good day.', 'a < b', '<div>', '[A]', 'The <|channel|> token.']) {
    assert.equal(withoutThinking(text), text);
  }
});

/** The text that people see while the answer grows. */
function shown(text: string): string {
  return withoutGrowingMark(mayHoldThinking(text) ? withoutThinking(text) : text).trim();
}

test('while a text grows no part of its thinking is seen, nor of the mark before it', () => {
  const thought = 'QQQ qqq.\n\nQQQ `q` < Q';
  const texts = written.flatMap(([open, close]) => [
    `${open}${thought}${close}8 9`,
    `${open}\n${thought}\n${close}\n\n8 9`,
    `  ${open}\n${thought}\n${close}\n${open}${thought}${close}8 9`,
    `8\n${open}\n${thought}\n${close}\n8 9`,
    `8\n\n${open}\n\`\`\`\n${thought}\n\`\`\`\n${close}\n8 9`,
  ]);
  const channels = [
    `<|channel|>analysis<|message|>${thought}<|end|><|start|>assistant` +
      '<|channel|>final<|message|>8 9',
    `<|start|>assistant<|channel|>analysis<|message|>${thought}<|end|><|start|>assistant` +
      '<|channel|>final<|message|>8 9<|return|>',
  ];
  for (const text of [...texts, ...channels]) {
    for (let length = 0; length <= text.length; length++) {
      const seen = shown(text.slice(0, length));
      assert.match(seen, /^(?:8(?: 9?)?)?$/, `${JSON.stringify(text)} at ${length}`);
    }
    assert.equal(shown(text), '8 9', text);
  }
});

test('the same where the marks are gone, and the name of a channel alone shows it', () => {
  const text = 'analysisQQQ qqq.\n\nQQQ.assistantfinal8 9';
  for (let length = 0; length <= text.length; length++) {
    const seen = shown(text.slice(0, length));
    assert.ok('analysi'.startsWith(seen) || '8 9'.startsWith(seen), `${seen} at ${length}`);
  }
  assert.equal(shown(text), '8 9');
});

test('while an answer grows that holds none of it, all but its last mark is seen', () => {
  const text = 'In <b>bold</b>, and:\n\n<ul>\n[x] a < b\n\n- `</think>` ends it.\n<think here>';
  for (let length = 0; length <= text.length; length++) {
    const piece = text.slice(0, length);
    const seen = shown(piece);
    assert.ok(piece.startsWith(seen), piece);
    assert.ok(piece.trim().length - seen.length <= 200, piece);
    assert.equal(piece.slice(seen.length).trim().includes('\n'), false, piece);
  }
});

test('a text made to be slow is read in one pass', () => {
  const hostile = [
    '<think></think>',
    '<think>',
    '<think>a</thin',
    '<think> </think> ',
    ' ',
    '<',
    '</think>',
    '<thinking><think></think>',
  ];
  for (const part of hostile) {
    for (const begin of ['', '<think>']) assertOnePass(begin, part, withoutThinkBlock);
  }
});

test('the same with marks of every kind in all places, also while it grows', () => {
  const hostile = [
    ...written.map(([open, close]) => `${open}${close}`),
    '</think>\n',
    '\n<think>',
    'a\n',
    '\n ',
    ' ',
    '<',
    '\n<',
    '<think a',
    '```\n',
    '```\n</think>\n',
    '<|channel|>final',
    '<|channel|>final<|message|>',
    'assistantfinal',
    'analysisA',
  ];
  const begins = ['', 'a\n</think>\n'];
  for (const part of hostile) {
    for (const begin of begins) assertOnePass(begin, part, shown);
  }
});
