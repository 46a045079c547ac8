import { deployTopics } from '#lib/event-log/kafka';
import { type ConfigFlags, readConfig } from '#lib/service';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { Terminal } from '../terminal.js';

/** `truss deploy topics`: says what it created, and what of the rest is not as it should be. @throws ConfigError, LogError */
export async function runDeployTopics(flags: ConfigFlags, { out }: Pick<Terminal, 'out'>): Promise<ExitCode> {
  const { kafka, prefix, topics } = readConfig(process.env, flags, { parts: ['kafka'], clientId: 'truss-deploy' });
  const { created, kept, differences } = await deployTopics({ connection: kafka, prefix, ...topics });
  await out.write(
    [
      ...created.map((topic) => `${topic}  created`),
      ...kept.map((topic) => `${topic}  is there`),
      ...differences.map((difference) => `differs: ${difference}`),
      ...(differences.length === 0 ? [] : ['Nothing that was there is changed: change it with the tools of Kafka.']),
    ]
      .map((line) => `${line}\n`)
      .join(''),
  );
  return EXIT.done;
}
