import { posix } from 'node:path';

/** Symbolic links of a folder: path in it -> target as written. */
export type Links = ReadonlyMap<string, string>;

/** What Linux follows on one path before it gives up. */
const MAX_FOLLOWED = 40;

/**
 * Whether a link leads out of its folder: as its target is written, or as the system resolves it, by way of other links. A loop leads nowhere, and so does
 * a chain too long for the system. Names that nothing bears count as folders, as they may be made.
 */
export function leadsOut(path: string, links: Links): boolean {
  const target = links.get(path);
  return (
    (target !== undefined && isOutside(posix.join(posix.dirname(path), target), target)) || resolvesOut(path, links)
  );
}

function isOutside(end: string, target: string): boolean {
  return posix.isAbsolute(target) || end === '..' || end.startsWith('../');
}

function resolvesOut(path: string, links: Links): boolean {
  const ahead = path.split('/').toReversed();
  const at: string[] = [];
  let followed = 0;
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (at.pop() === undefined) return true;
      continue;
    }
    const target = links.get([...at, name].join('/'));
    if (target === undefined) at.push(name);
    else if (posix.isAbsolute(target)) return true;
    else if (++followed > MAX_FOLLOWED) return false;
    else ahead.push(...target.split('/').toReversed());
  }
  return false;
}

/**
 * Which of the recorded links may be made in a folder that has `own` links already: none that leads out, and none at all where they turn one of `own`
 * out of the folder that leads nowhere else without them.
 */
export function linksToMake(own: Links, recorded: Links): Links {
  const all = new Map([...own, ...recorded]);
  const inside = new Map([...recorded].filter(([path]) => !leadsOut(path, all)));
  const made = new Map([...own, ...inside]);
  const turns = [...own.keys()].some((path) => leadsOut(path, made) && !leadsOut(path, own));
  return turns ? new Map() : inside;
}
