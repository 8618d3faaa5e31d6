import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Linked, LinkedSet } from './linked-set.ts';

class Member extends Linked {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }
}

const namesOf = (set: LinkedSet<Member>): string => [...set].map(({ name }) => name).join('');

test('members come back in the order of adding, less those that were removed', () => {
  const set = new LinkedSet<Member>();
  const [a, b, c] = ['a', 'b', 'c'].map((name) => new Member(name));
  for (const member of [a!, b!, c!]) set.add(member);
  set.delete(b!);
  assert.equal(namesOf(set), 'ac');
  assert.equal(set.first, a);
  set.add(b!);
  assert.equal(namesOf(set), 'acb');
  assert.equal(set.size, 3);
});

test('adding twice and removing what is not there change nothing', () => {
  const set = new LinkedSet<Member>();
  const a = new Member('a');
  set.add(a);
  set.add(a);
  assert.equal(set.size, 1);
  set.delete(a);
  set.delete(a);
  assert.equal(set.size, 0);
  assert.equal(namesOf(set), '');
});

test('members may be removed while the set is walked', () => {
  const set = new LinkedSet<Member>();
  for (const name of 'abcd') set.add(new Member(name));
  for (const member of set) set.delete(member);
  assert.equal(set.size, 0);
  assert.equal(set.first, null);
});
