/** A controller in Go, with controller-runtime's client and caches, on the local API server and on a real one. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { protobufFieldFiles } from './harness/protobuf-fields.ts';

describe('the table of protobuf fields', () => {
  it("is that of Kubernetes' own types", async () => {
    // `node test/cluster/harness/protobuf-fields.ts` writes it.
    for (const [path, text] of await protobufFieldFiles()) expect(await readFile(path, 'utf8')).toBe(text);
  });
});
