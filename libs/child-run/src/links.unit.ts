import { describe, expect, test } from 'vitest';
import { leadsOut, linksToMake } from './links.js';

const links = (all: Readonly<Record<string, string>>) => new Map(Object.entries(all));
const out = (all: Readonly<Record<string, string>>): string[] =>
  Object.keys(all).filter((path) => leadsOut(path, links(all)));

describe('a link leads out of its folder', () => {
  test.each<[string, Record<string, string>, string[]]>([
    ['that names a file beside it', { a: 'b', 'd/e': '../b', 'd/f': './e' }, []],
    ['that names the folder itself', { a: '.', 'd/e': '..' }, []],
    ['that is absolute', { a: '/etc/passwd' }, ['a']],
    ['that climbs past the top', { a: '..', 'd/e': '../../x', 'd/f': '../x/../../y' }, ['a', 'd/e', 'd/f']],
    ['that dangles within', { a: 'nowhere', 'd/e': '../no/such' }, []],
    ['that dangles outside', { a: '../no/such' }, ['a']],
    ['by way of a link that climbs, as its own text does not show', { 'p/q/k': '../..', m: 'p/q/k/..' }, ['m']],
    ['by way of a link to its own folder', { 'p/q/k': '.', m: 'p/q/k/../../..' }, ['m']],
    ['at the end of a chain', { a: 'b', b: 'c', c: 'd/../../x' }, ['a', 'b', 'c']],
    ['through an absolute one', { a: '/etc', b: 'a/passwd' }, ['a', 'b']],
    ['through one that stays, to a name within', { a: 'd', b: 'a/file' }, []],
  ])('one %s', (_, all, expected) => {
    expect(out(all)).toEqual(expected);
  });

  test('and none does that is part of a loop, or behind one', () => {
    expect(out({ a: 'a' })).toEqual([]);
    expect(out({ a: 'b', b: 'a', c: 'a/../../x' })).toEqual(['c']);
    expect(out({ a: 'b', b: 'a', c: 'd/a/x' })).toEqual([]);
  });

  test('and none does behind more links than the system follows', () => {
    const chain = (length: number) =>
      Object.fromEntries(
        Array.from({ length }, (_, i) => [`l${i}`, i + 1 < length ? `l${i + 1}` : 'p/q/k/..'] as const),
      );
    const loose = { 'p/q/k': '../..' };
    expect(leadsOut('l0', links({ ...loose, ...chain(38) }))).toBe(true);
    expect(leadsOut('l0', links({ ...loose, ...chain(50) }))).toBe(false);
  });
});

describe('of what an agent linked', () => {
  test('nothing is made that leads out by way of a link of the contract', () => {
    const own = links({ 'p/q/k': '.' });
    expect([...linksToMake(own, links({ m: 'p/q/k/../../..', n: 'p' })).keys()]).toEqual(['n']);
  });

  test('nothing at all where a link of the contract would lead out by way of it', () => {
    const own = links({ data: 'd/e/../../x' });
    expect([...linksToMake(own, links({ 'd/e': '..', n: 'x' })).keys()]).toEqual([]);
    expect([...linksToMake(own, links({ 'd/f': '..', n: 'x' })).keys()]).toEqual(['d/f', 'n']);
  });
});
