import { z } from 'zod';
import { reportSchema } from '#lib/evaluation';

/** Where the published schema lies, from the root of the package. */
export const REPORT_SCHEMA_FILE = 'schemas/eval-report.schema.json';

/** The JSON Schema (draft 2020-12) of what `truss eval` prints, as the file holds it. */
export function reportJsonSchema(): string {
  const { $schema, ...shape } = z.toJSONSchema(reportSchema, { target: 'draft-2020-12' });
  const schema = {
    $schema,
    $id: 'urn:truss:eval-report:1',
    title: 'EvalReport',
    description:
      'The report of one evaluation. Rates are correctly rounded doubles of exact integers; null is unknown, never zero.',
    ...shape,
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}
