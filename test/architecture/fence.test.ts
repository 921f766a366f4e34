/** Writes to Kubernetes and to AWS use clients that check a fence: src/kube/fence.ts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const SRC = resolve(import.meta.dirname, '../../src');

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, text: readFileSync(join(SRC, file), 'utf8').replace(/^\s*(\/?\*|\/\/).*$/gm, '') }));

const filesWith = (pattern: RegExp): readonly string[] =>
  sources
    .filter(({ text }) => pattern.test(text))
    .map(({ file }) => file)
    .sort();

describe('the fence', () => {
  it('is permanently open only if no lease is required', () => {
    expect(filesWith(/\bopenFence\(/)).toEqual([
      'cli/pause.ts', // a user's request
      'kube/lead.ts', // the election's own requests
      'local/remote-client.ts', // kubelets of the local world
      'main.ts', // an operator without leader election
      'replay/aws/in-process-clients.ts', // replays
    ]);
  });

  it('is part of every Kubernetes client that can write', () => {
    expect(filesWith(/\bnew HttpClient\(/)).toEqual(['kube/http.ts']);
    expect(filesWith(/: KubeClient \{|implements (Http)?KubeClient\b/)).toEqual([
      'kube/http.ts',
      'replay/operator/in-process-client.ts',
    ]);
  });

  it('is part of every AWS client', () => {
    expect(filesWith(/\bnew (?!STS|Http)[A-Z]\w*Client\(/)).toEqual(['aws/clients.ts']);
  });

  it('is not bypassed by any other request of the operator', () => {
    const operator = /^(?:api|aws|cloud|controllers|engine|engine-worker|kube|observe|state)\/|^main\.ts$/;
    const requests = filesWith(/\bfetch\(|\bhttps?Request\b|\b(?:http|https)\.request\(|\bundici\b/);
    expect(requests.filter((file) => operator.test(file))).toEqual([
      'aws/clients.ts', // instance metadata
      'aws/instancetypes/discovery.ts', // a parameter with this name
      'aws/signed.ts', // reads of zonal shifts
      'kube/transport.ts', // behind the fence
    ]);
  });
});
