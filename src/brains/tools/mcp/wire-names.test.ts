import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assert as holds,
  constantFrom,
  oneof,
  property,
  stringMatching,
  tuple,
  uniqueArray,
} from 'fast-check';
import { runs } from '../../../../test/support/runs.ts';
import { wireNames } from './definition.ts';

test('names for models are valid, and one to one', () => {
  const part = stringMatching(/^[a-z][a-z0-9_-]{0,5}$/);
  const tool = stringMatching(/^[\w./-]{1,80}$/);
  const name = tuple(part, tool).map(([server, own]) => `mcp.${server}.${own}`);
  const close = constantFrom('mcp.a.b_c', 'mcp.a_b.c', 'mcp.a-b.c', 'mcp.a.b.c', 'mcp.a.b/c');
  holds(
    property(uniqueArray(oneof(name, close), { maxLength: 20 }), (names) => {
      const wire = wireNames(['time', ...names]);
      assert.equal(wire.size, names.length + 1);
      assert.equal(new Set(wire.values()).size, names.length + 1);
      for (const one of wire.values()) assert.match(one, /^[A-Za-z0-9_-]{1,64}$/);
      assert.equal(wire.get('time'), 'time');
    }),
    { numRuns: runs(200) },
  );
});

test('a plain name stays readable', () => {
  const wire = wireNames(['mcp.files.read_text_file', 'mcp.files.read.text.file']);
  assert.equal(wire.get('mcp.files.read_text_file'), 'mcp_files_read_text_file');
  assert.match(wire.get('mcp.files.read.text.file')!, /^mcp_files_read_text_file_[0-9a-f]{10}$/);
});
