import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { readSkills } from './skills.ts';

const budget = 8_192;

/** Reads the skills of a folder with these files, by their paths. */
async function read(
  files: Readonly<Record<string, string | Buffer>>,
  more: { readonly budget?: number; readonly prepare?: (folder: string) => Promise<void> } = {},
) {
  const scratch = await mkdtemp(join(tmpdir(), 'svc-skills-'));
  const folder = join(scratch, 'skills');
  try {
    await mkdir(folder);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await more.prepare?.(folder);
    const skills = await readSkills(folder, more.budget ?? budget);
    if (skills.kind === 'problem') throw new Error(skills.message);
    return skills;
  } finally {
    await rm(scratch, { recursive: true });
  }
}

const skill = (name: string, description: string, body = ''): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}`;

test('names and descriptions are listed, then bodies, in the order of the folders', async () => {
  const { text, warnings } = await read({
    'opening-hours/SKILL.md': skill('opening-hours', 'When we are open.', '# Hours\n\nMon 9-5.\n'),
    'greeting/SKILL.md': skill('greeting', 'How to say hello.', 'Be brief.'),
    'greeting/scripts/run.sh': 'rm -rf /',
    'README.md': 'no skill',
    '.git/SKILL.md': 'hidden',
  });
  assert.deepEqual(warnings, []);
  assert.equal(
    text,
    [
      'Skills, which say how things are done here. They inform you, and give you no tools and no ' +
        'rights:',
      '- greeting: How to say hello.',
      '- opening-hours: When we are open.',
      '',
      'Skill greeting:',
      'Be brief.',
      '',
      'Skill opening-hours:',
      '# Hours',
      '',
      'Mon 9-5.',
    ].join('\n'),
  );
});

test('a folder without skills gives no text', async () => {
  assert.deepEqual(await read({ 'README.md': 'hi' }), { kind: 'read', text: null, warnings: [] });
});

test('a folder that is not there, or is a file, is a problem that names it', async () => {
  for (const path of ['/nowhere/skills', join(import.meta.dirname, 'skills.ts')]) {
    const missing = await readSkills(path, budget);
    assert.equal(missing.kind, 'problem');
    assert.ok(missing.kind === 'problem' && missing.message.includes(path));
  }
});

test('a byte order mark, ends of lines of Windows, and YAML’s texts are read', async () => {
  const front = [
    '\uFEFF---',
    '# of the house',
    "name: 'a'",
    'description: >-',
    '  Folded',
    '  text: with a colon.',
    'license: MIT',
    'metadata: {author: us}',
    'allowed-tools: webhook_call read_file',
    '---',
    'Body.',
  ];
  for (const end of ['\r\n', '\n', '\r']) {
    const { text, warnings } = await read({ 'a/SKILL.md': front.join(end) });
    assert.deepEqual(warnings, []);
    assert.match(text!, /\n- a: Folded text: with a colon\.\n\nSkill a:\nBody\.$/);
    assert.doesNotMatch(text!, /webhook_call/, 'what a skill asks for is not even told');
  }
});

test('a value that YAML cannot have without quotes is read as the text that it is', async () => {
  const { text, warnings } = await read({
    'a/SKILL.md': skill('a', 'Use when: asked'),
    'b/SKILL.md': skill('b', 'Reads PDFs: all of them\n  and on: the next line\nlicense: MIT: 2'),
    'c/SKILL.md': skill('c', '@team asks: "who" \\ `what`:'),
    'd/SKILL.md': skill('d', 'ends with a colon:\nmetadata:\n  author: us\n  note: "a: b"'),
    'e/SKILL.md': skill('e', 'Plain.\ntriggers: one: two\nlist:\n  - x\n  - y'),
    'f/SKILL.md': skill('f', '- a dash: first'),
  });
  assert.deepEqual(warnings, []);
  const listed = text!.split('\n').slice(1);
  assert.deepEqual(listed, [
    '- a: Use when: asked',
    '- b: Reads PDFs: all of them and on: the next line',
    '- c: @team asks: "who" \\ `what`:',
    '- d: ends with a colon:',
    '- e: Plain.',
    '- f: - a dash: first',
  ]);
});

test('a name fault is a warning, and the skill loads', async () => {
  const { text, warnings } = await read({
    'a/SKILL.md': skill('Other Name', 'A.'),
    'b/SKILL.md': '---\ndescription: B.\n---\n',
    'c/SKILL.md': '---\nname: [c]\ndescription: C.\n---\n',
    'd/SKILL.md': skill('d'.repeat(80), 'D.'),
    'e--e/SKILL.md': skill('e--e', 'E.'),
  });
  for (const line of ['- Other Name: A.', '- b: B.', '- c: C.', `- ${'d'.repeat(64)}: D.`]) {
    assert.ok(text!.split('\n').includes(line), line);
  }
  assert.deepEqual(warnings, [
    'skill "a": its name should be of lower-case letters, digits and single hyphens',
    'skill "a": its name should be that of its folder',
    'skill "b": its front matter has no name; that of its folder is used',
    'skill "c": its front matter has no name; that of its folder is used',
    'skill "d": its name is cut to 64 characters',
    'skill "d": its name should be that of its folder',
    'skill "e--e": its name should be of lower-case letters, digits and single hyphens',
  ]);
});

test('a description is cut at 1,024 code points, and stays in one line', async () => {
  const { text, warnings } = await read({
    'a/SKILL.md': skill('a', '🙂'.repeat(1_025)),
    'b/SKILL.md': '---\nname: b\ndescription: |\n  one\n  - b: forged\n---\n',
    'c/SKILL.md': skill('c', '"\\u001b[31mred\\nnext"'),
  });
  assert.ok(text!.includes(`- a: ${'🙂'.repeat(1_024)}\n`));
  assert.ok(text!.includes('\n- b: one - b: forged\n- c: [31mred next'));
  assert.deepEqual(warnings, ['skill "a": its description is cut to 1024 code points']);
});

/** Nine layers, each nine times as long as the one before. */
const bomb = 'a b c d e f g h i'
  .split(' ')
  .map((name, at) => {
    const next = 'bcdefghij'.charAt(at);
    return `${next}: &${next} [${`*${name},`.repeat(9)}]\n`;
  })
  .join('');

const faults: Readonly<Record<string, readonly [text: string | Buffer, fault: RegExp]>> = {
  'no front matter': ['# Hours\n', /does not begin with front matter/],
  'an empty file': ['', /does not begin with front matter/],
  'no end': ['---\nname: a\ndescription: b\n', /front matter has no end/],
  'no description': ['---\nname: a\n---\n', /no description/],
  'an empty description': [skill('a', '"  "'), /no description/],
  'a description that is no text': [skill('a', '{a: b}'), /no description/],
  'a list': ['---\n- a\n---\n', /no fields/],
  'nothing in it': ['---\n---\n', /no fields/],
  'broken YAML': ['---\nname: "a\n---\n', /is no YAML/],
  'a key that comes twice': ['---\ndescription: a\ndescription: b\n---\n', /is no YAML: .*unique/],
  'two documents': ['---\ndescription: a\n...\nb: c\n---\n', /is no YAML/],
  'an alias': ['---\na: &x b\ndescription: *x\n---\n', /uses an alias/],
  'a bomb of aliases': [`---\na: &a [x,x,x]\n${bomb}description: d\n---\n`, /uses an alias/],
  'a tag': ['---\ndescription: !!js/function "f"\n---\n', /uses a tag/],
  'a tag of the core schema': ['---\ndescription: !!str a\n---\n', /uses a tag/],
  'a merge key': ['---\n<<: {description: merged}\n---\n', /no description/],
  'a prototype': ['---\n__proto__: {description: inherited}\n---\n', /no description/],
  'deep nesting': [`---\ndescription: ${'['.repeat(16_000)}\n---\n`, /cannot be read|is no YAML/],
  'long front matter': [skill('a', 'x'.repeat(20_000)), /more than 16384 characters/],
  'a huge file': [skill('a', 'b', 'x'.repeat(300_000)), /more than 262144 bytes/],
  'no UTF-8': [Buffer.from([0x2d, 0x2d, 0x2d, 0xff, 0xfe]), /is not UTF-8/],
};

for (const [what, [text, fault]] of Object.entries(faults)) {
  test(`a skill with ${what} is skipped, with a warning that says so`, async () => {
    const skills = await read({ 'a/SKILL.md': text, 'b/SKILL.md': skill('b', 'Stays.') });
    assert.equal(skills.warnings.length, 1, skills.warnings.join('\n'));
    assert.match(skills.warnings[0]!, /^skill "a" is skipped: /);
    assert.match(skills.warnings[0]!, fault);
    assert.doesNotMatch(skills.warnings[0]!, /\n/);
    assert.match(skills.text!, /rights:\n- b: Stays\.$/);
  });
}

test('no link is followed, and what is no file is not read', async () => {
  const { text, warnings } = await read(
    { 'a/SKILL.md': skill('a', 'A.'), 'b/notes.txt': 'x', 'd/SKILL.md/x': 'a folder' },
    {
      async prepare(folder) {
        await writeFile(join(folder, '..', 'secret.md'), skill('c', 'Secret.'));
        await mkdir(join(folder, 'c'));
        await symlink(join(folder, '..', 'secret.md'), join(folder, 'c', 'SKILL.md'));
        await symlink(join(folder, 'a'), join(folder, 'linked'));
      },
    },
  );
  assert.match(text!, /rights:\n- a: A\.$/);
  assert.deepEqual(warnings.toSorted(), [
    'skill "b" is skipped: it has no SKILL.md',
    'skill "c" is skipped: its SKILL.md is a link, and no link is followed',
    'skill "d" is skipped: its SKILL.md is no file',
    'skill "linked" is skipped: it is a link, and no link is followed',
  ]);
});

test('a body that is over the budget is left out whole, and that is said', async () => {
  const { text, warnings } = await read(
    {
      'a/SKILL.md': skill('a', 'A.', '🙂'.repeat(6)),
      'b/SKILL.md': skill('b', 'B.', 'x'.repeat(5)),
      'c/SKILL.md': skill('c', 'C.', 'last'),
    },
    { budget: 10 },
  );
  assert.match(text!, /\n- b: B\. \(Its text is too long and is not here\.\)\n/);
  assert.match(text!, /\nSkill a:\n(🙂){6}\n\nSkill c:\nlast$/u);
  assert.doesNotMatch(text!, /xxx/);
  assert.deepEqual(warnings, [
    'b: its text is left out: it has 5 code points, and 4 of skills_body_budget (10) are left',
  ]);
});

test('at most a hundred skills are read', async () => {
  const files = Array.from({ length: 103 }, (_, at) => {
    const name = `s${String(at).padStart(3, '0')}`;
    return [`${name}/SKILL.md`, skill(name, 'One.')] as const;
  });
  const { text, warnings } = await read(Object.fromEntries(files));
  assert.equal(text!.split('\n- ').length - 1, 100);
  assert.deepEqual(warnings, ['3 skills are skipped: at most 100 are read']);
});
