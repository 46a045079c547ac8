import { expect, test } from 'vitest';
import { evalRunId, type JsonValue } from '#lib/ledger';
import { signCancel, signRequest } from '#lib/requests';
import { AUDIENCE, ana, constant, inline, NOW, request, sha256 } from '../../requests/src/requests.testkit.js';
import { createFixedCodec } from './fixed-codec.testkit.js';

test('a signed request comes through its schema as it was signed', async () => {
  const bytes = new Uint8Array(1000).fill(5);
  const contract = inline({ toml: constant(), archive: { sha256: sha256(bytes), bytes } });
  const signed: JsonValue = await signRequest(request({ contract }), ana, { audience: AUDIENCE, expires: NOW });
  const codec = createFixedCodec();
  expect(codec.decode('eval.requested', codec.encode('eval.requested', signed) as Uint8Array)).toStrictEqual(signed);
});

test('so does a cancel, and one that is not signed has no signature', async () => {
  const cancel = { kind: 'cancel', eval_run_id: evalRunId('ana', 'one'), reason: 'enough' } as const;
  const signed: JsonValue = await signCancel(cancel, ana, { audience: AUDIENCE, expires: NOW });
  const codec = createFixedCodec();
  for (const one of [signed, cancel]) {
    expect(codec.decode('eval.requested', codec.encode('eval.requested', one) as Uint8Array)).toStrictEqual(one);
  }
});
