import { OPERATORS } from './operators.mjs';
import { PLACES } from './tokens.mjs';

/** Operators and places that a text names, in the agent's own vocabulary. */
export function named(text) {
  const lower = text.toLowerCase();
  return {
    operators: OPERATORS.map(({ name }) => name).filter((name) => lower.includes(name)),
    places: PLACES.filter((place) => lower.includes(`in ${place}`)),
  };
}

/** The lesson of a repair: which kind of edit, in which kind of place; never where, and never what it became. */
export function lessonOf({ operator, place }) {
  const { about } = OPERATORS.find(({ name }) => name === operator);
  return {
    title: `${operator[0].toUpperCase()}${operator.slice(1)} in ${place}`,
    when: 'A small module fails its tests and has such a place.',
    text: `The defect was of the kind ${operator}, in ${place}. ${about}`,
  };
}

/**
 * Turns lessons into a preference over candidates: 2 for a named operator, 3 when the lesson's place fits as well,
 * else 0. `used` holds the ids of the lessons that move at least one of the candidates.
 */
export function preferenceOf(lessons, candidates) {
  const read = lessons.map(({ id, title, text }) => ({ id, ...named(`${title}. ${text}`) }));
  const score = ({ operators, places }, candidate) =>
    !operators.includes(candidate.operator) ? 0 : places.includes(candidate.place) ? 3 : 2;
  return {
    preference: (candidate) => Math.max(0, ...read.map((lesson) => score(lesson, candidate))),
    used: read.filter((lesson) => candidates.some((candidate) => score(lesson, candidate) > 0)).map(({ id }) => id),
  };
}
