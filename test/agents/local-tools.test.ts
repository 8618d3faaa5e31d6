/** The tools that stay on this machine, called by a model of the running program. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAgentProgram } from './program.ts';

test('time, echo, calc and memory_note are run for a model', async () => {
  const tools = ['time', 'echo', 'calc', 'memory_note'];
  await using program = await startAgentProgram({ tools, memory: { max_note_runes: 20 } });
  const today = new Date().toISOString().slice(0, 10);
  const time = await program.call('time', { timezone: 'Asia/Kolkata' });
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+05:30 \(Asia\/Kolkata\), a \w+day$/);
  assert.ok((await program.call('time', {})) >= today);
  assert.match(await program.call('time', { timezone: 'Mars' }), /There is no time zone "Mars"/);
  assert.equal(await program.call('echo', { text: 'as it is: "ü"' }), 'as it is: "ü"');
  assert.equal(await program.call('calc', { expression: '2^64 - 1' }), '18446744073709551615');
  assert.equal(await program.call('calc', '0.1 + 0.2'), '0.3');
  assert.match(await program.call('calc', { expression: '1/0' }), /divides by zero/);
  const note = 'likes tea, not milk';
  assert.match(await program.call('memory_note', { note }), /^Kept/);
  assert.match(
    await program.call('memory_note', { note: 'x'.repeat(21) }),
    /20 characters at most/,
  );
});
