import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SCRIPT = join(import.meta.dirname, '../../deploy/local/stack');
let folder: Promise<string> | undefined;

/** The folder of the pinned and checked downloads: the broker's jars in `lib`, the registry in `registry`. */
function installed(): Promise<string> {
  folder ??= promisify(execFile)(SCRIPT, ['install']).then(({ stdout }) => stdout.trim());
  return folder;
}

/** Arguments of `java` for a class of Apache Kafka. */
export async function kafkaJava(main: string, ...args: readonly string[]): Promise<string[]> {
  const log4j = join(import.meta.dirname, '../../deploy/local/log4j2.properties');
  const classes = join(await installed(), 'lib', '*');
  return [
    '-Xmx384m',
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    `-Dlog4j2.configurationFile=${log4j}`,
    '-cp',
    classes,
    main,
    ...args,
  ];
}

/** Arguments of `java` for the schema registry, with its settings as system properties. */
export async function registryJava(settings: Readonly<Record<string, string>>): Promise<string[]> {
  const home = join(await installed(), 'registry');
  const jar = readdirSync(home).find((name) => name.endsWith('-runner.jar'));
  if (jar === undefined)
    throw new Error(
      `No registry in ${home}: delete the folder above it, and deploy/local/stack install brings it again`,
    );
  const properties = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`);
  return ['-Xmx192m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', ...properties, '-jar', join(home, jar)];
}
