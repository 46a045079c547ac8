import { expect, test } from 'vitest';
import type { JsonValue } from '#lib/ledger';
import { signRequest } from '#lib/requests';
import { AUDIENCE, ana, constant, inline, NOW, request, sha256 } from '../../requests/src/requests.testkit.js';
import { createFixedCodec } from './fixed-codec.testkit.js';

test('a signed request comes through its schema as it was signed', async () => {
  const bytes = new Uint8Array(1000).fill(5);
  const contract = inline({ toml: constant(), archive: { sha256: sha256(bytes), bytes } });
  const signed: JsonValue = await signRequest(request({ contract }), ana, { audience: AUDIENCE, expires: NOW });
  const codec = createFixedCodec();
  expect(codec.decode('eval.requested', codec.encode('eval.requested', signed) as Uint8Array)).toStrictEqual(signed);
});
