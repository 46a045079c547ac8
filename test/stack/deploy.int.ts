import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { VARIABLES } from '#lib/service';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const CHART = join(DEPLOY, 'helm/truss');
const text = (...path: readonly string[]): string => readFileSync(join(...path), 'utf8');
const compose = text(DEPLOY, 'compose.yaml');

test('the compose file runs the versions of the local stack', () => {
  const pom = text(DEPLOY, 'local/pom.xml');
  const version = (artifact: string): string | undefined =>
    new RegExp(`<artifactId>${artifact}</artifactId>\\s*<version>(.*)</version>`).exec(pom)?.[1];
  expect(compose).toContain(`image: apache/kafka:${version('kafka_2.13')}\n`);
  expect(compose).toContain(`image: apicurio/apicurio-registry-mem:${version('apicurio-registry-app')}\n`);
});

test('the image has the Node that the package is built and tested with', () => {
  const { devDependencies, engines } = JSON.parse(text(DEPLOY, '../package.json'));
  const images = [...text(DEPLOY, 'Dockerfile').matchAll(/^FROM node:([\d.]+)/gm)].map(([, version]) => version);
  expect(new Set(images)).toEqual(new Set([devDependencies.node]));
  expect(engines.node).toMatch(/^>=24/);
});

test('every variable that the compose file and the chart set is one that the services read', () => {
  const templates = readdirSync(join(CHART, 'templates')).map((name) => text(CHART, 'templates', name));
  const known = new Set<string>(
    Object.entries(VARIABLES).flatMap(([name, of]) => ('secret' in of ? [name, `${name}_FILE`] : [name])),
  );
  const set = [compose, ...templates].flatMap((source) =>
    [...source.matchAll(/\bTRUSS_(?!STACK_)[A-Z_]*[A-Z]/g)].map(String),
  );
  // What the chart puts together of a system's or a role's name.
  const prefixes = ['TRUSS_KAFKA_SASL', 'TRUSS_REGISTRY', 'TRUSS_REDIS'].flatMap((of) => [
    `${of}_USERNAME`,
    `${of}_PASSWORD_FILE`,
  ]);
  expect(set.length).toBeGreaterThan(20);
  expect([...set, ...prefixes].filter((name) => !known.has(name) && name !== 'TRUSS_KAFKA_SASL')).toEqual([]);
});

test('the version of the chart is that of the package', () => {
  const { version } = JSON.parse(text(DEPLOY, '../package.json'));
  expect(text(CHART, 'Chart.yaml')).toMatch(new RegExp(`^version: ${version}\nappVersion: ${version}$`, 'm'));
});

test('the chart takes its values with what must be set, and refuses them without', () => {
  const fits = new Ajv({ strict: false }).compile(JSON.parse(text(CHART, 'values.schema.json')));
  const defaults = parse(text(CHART, 'values.yaml'), { merge: true });
  const minimal = parse(text(CHART, 'ci/minimal-values.yaml'));
  expect(fits(merged(defaults, minimal)), JSON.stringify(fits.errors)).toBe(true);
  expect(fits(defaults)).toBe(false);
  for (const part of Object.keys(minimal)) {
    expect(fits(merged(defaults, { ...minimal, [part]: undefined })), `without ${part}`).toBe(false);
  }
  expect(fits(merged(defaults, { ...minimal, redis: { url: 'redis://user:secret@host:6379' } }))).toBe(false);
});

/** As Helm lays values over values: objects by key, everything else whole. */
function merged(under: unknown, over: unknown): unknown {
  if (over === undefined) return under;
  if (!isObject(under) || !isObject(over)) return over;
  return { ...under, ...Object.fromEntries(Object.keys(over).map((key) => [key, merged(under[key], over[key])])) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
