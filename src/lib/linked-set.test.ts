import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Linked, LinkedSet } from './queue.ts';

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

test('a member that is removed before its turn is passed over, and the rest still come', () => {
  const set = new LinkedSet<Member>();
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((name) => new Member(name));
  for (const member of [a!, b!, c!, d!, e!]) set.add(member);
  const walked: string[] = [];
  for (const member of set) {
    walked.push(member.name);
    if (member !== a) continue;
    set.delete(b!);
    set.delete(c!);
  }
  assert.deepEqual(walked, ['a', 'd', 'e']);
});

test('a walk ends where all that was left is removed, and each of several goes its own way', () => {
  const set = new LinkedSet<Member>();
  const [a, b, c] = ['a', 'b', 'c'].map((name) => new Member(name));
  for (const member of [a!, b!, c!]) set.add(member);
  const [early, late] = [set[Symbol.iterator](), set[Symbol.iterator]()];
  assert.equal(early.next().value, a);
  assert.equal(late.next().value, a);
  assert.equal(late.next().value, b);
  set.delete(b!);
  assert.equal(early.next().value, c);
  set.delete(c!);
  assert.equal(late.next().done, true);
  assert.equal(early.next().done, true);
});

test('a member that was moved to another set is not walked in the one that it left', () => {
  const [set, other] = [new LinkedSet<Member>(), new LinkedSet<Member>()];
  const [a, b, c] = ['a', 'b', 'c'].map((name) => new Member(name));
  for (const member of [a!, b!, c!]) set.add(member);
  const walked: string[] = [];
  for (const { name } of set) {
    walked.push(name);
    if (name !== 'a') continue;
    set.delete(b!);
    other.add(b!);
  }
  assert.deepEqual(walked, ['a', 'c']);
});
