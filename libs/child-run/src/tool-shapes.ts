import { z } from 'zod';
import type { JsonObject } from '#lib/ledger';
import type { ModelTool } from '#lib/providers';

const path = z.string().describe('Relative to the workspace, such as src/main.mjs');

/** The tools of a model agent, by the names that a contract gives them. */
export const TOOLS = {
  list_files: {
    description: 'Lists the files of the workspace, or of one folder of it, with their sizes in bytes.',
    arguments: z.strictObject({ folder: z.string().optional().describe('A folder; left out: the whole workspace') }),
  },
  read_file: {
    description: 'Reads a text file, from a line on; what is long is cut and says so.',
    arguments: z.strictObject({ path, from_line: z.int().min(1).optional().describe('Counted from 1') }),
  },
  write_file: {
    description: 'Writes a whole text file: a new one, or in place of the one that is there.',
    arguments: z.strictObject({ path, text: z.string() }),
  },
  run_command: {
    description: 'Runs a shell command in the workspace and gives its exit code and what it printed.',
    arguments: z.strictObject({ command: z.string().min(1) }),
  },
} as const;

export type ToolName = keyof typeof TOOLS;
export type ToolArguments<T extends ToolName> = z.infer<(typeof TOOLS)[T]['arguments']>;

export function isTool(name: string): name is ToolName {
  return Object.hasOwn(TOOLS, name);
}

/** As a provider is told of them, in the contract's order. */
export function offeredTools(names: readonly string[]): ModelTool[] {
  return names.filter(isTool).map((name) => {
    const { description, arguments: shape } = TOOLS[name];
    const { $schema: _, ...json_schema } = z.toJSONSchema(shape);
    return { name, description, json_schema: json_schema as JsonObject };
  });
}
