/** A controller in Go with controller-runtime's client and caches, on the local API server and on a real one. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { customResourceDefinitions } from '#api/schema';
import { steadyClock } from '#lib/clock';
import { type LocalApiServer, startApiServer } from '#local/testing';
import { failRequests } from '../support/api-server-faults.ts';
import { type ControlPlane, startControlPlane } from './harness/controlplane.ts';
import { serverAt } from './harness/http.ts';
import { eventually } from './harness/processes.ts';
import { protobufFieldFiles } from './harness/protobuf-fields.ts';

const run = promisify(execFile);

interface Report {
  readonly results: readonly { readonly object: string; readonly step: string; readonly error: string }[];
  readonly bodies: Readonly<Record<string, number>>;
  readonly watches: readonly string[];
}

describe('the table of protobuf fields', () => {
  it("equals the protobuf fields of Kubernetes' types", async () => {
    // `node test/cluster/harness/protobuf-fields.ts` generates the table.
    for (const [path, text] of await protobufFieldFiles()) expect(await readFile(path, 'utf8')).toBe(text);
  });
});

describe('a controller in Go', () => {
  let plane: ControlPlane;
  let local: LocalApiServer;
  let folder: string;
  let objects: string;
  let kubeconfig: string;

  /**
   * @param namespaces suffix for the names of namespaces: without controllers they are never deleted and cannot be
   * created again
   */
  const play = async (file: string, form: 'typed' | 'unstructured', namespaces: string): Promise<Report> => {
    const own = join(folder, `objects-${namespaces}.yaml`);
    await writeFile(own, (await readFile(objects, 'utf8')).replace(/\b(show|addressed)\b/g, `$1-${namespaces}`));
    const { stdout } = await run(plane.binaries.client, ['play', file, own, form], { maxBuffer: 64 * 1024 * 1024 });
    return JSON.parse(stdout) as Report;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'karpenter-go-client-'));
    plane = await startControlPlane({ controllers: false });
    local = await startApiServer({ clock: steadyClock(), bookmarkIntervalMs: 100 });
    kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, local.kubeconfig());
    const files = ['objects.yaml', 'rest.yaml'].map((name) => join(import.meta.dirname, 'parity', name));
    objects = join(folder, 'objects.yaml');
    await writeFile(objects, (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('---\n'));
    const real = serverAt(plane.url, plane.credentials);
    for (const body of customResourceDefinitions()) {
      local.install(body);
      await real.send({ method: 'POST', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body });
    }
    const served = async (): Promise<true | undefined> =>
      (await real.send({ method: 'GET', path: '/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers' })).code === 200 ||
      undefined;
    await eventually('the CRDs to be served', served, 30_000).finally(() => real.close());
  }, 300_000);
  afterAll(async () => {
    await local?.close();
    await plane?.stop();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  it('has an object of every kind that the local server stores', async () => {
    const text = await readFile(objects, 'utf8');
    const has = new Set(
      [...text.matchAll(/^apiVersion: (.*)\nkind: (.*)$/gm)].map(([, version, kind]) => `${version} ${kind}`),
    );
    const server = serverAt(local.url);
    const lacking: string[] = [];
    const { body } = await server.send({ method: 'GET', path: '/apis' });
    const { groups } = body as { groups: readonly { versions: readonly { groupVersion: string }[] }[] };
    const versions = groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion));
    for (const version of ['v1', ...versions]) {
      const path = version === 'v1' ? '/api/v1' : `/apis/${version}`;
      const answer = await server.send({ method: 'GET', path });
      const { resources } = answer.body as { resources: readonly { kind: string; verbs: readonly string[] }[] };
      const stored = resources.filter(({ verbs }) => verbs.includes('watch'));
      lacking.push(...stored.map(({ kind }) => `${version} ${kind}`).filter((kind) => !has.has(kind)));
    }
    server.close();
    expect(lacking).toEqual([]);
  });

  it.each([
    'typed',
    'unstructured',
  ] as const)('reads, watches and writes every kind as on a real server: %s objects', async (form) => {
    const real = await play(plane.kubeconfig, form, form);
    const ours = await play(kubeconfig, form, form);
    expect(ours.results.filter(({ error }) => error !== '')).toEqual(real.results.filter(({ error }) => error !== ''));
    expect(ours.results.map(({ object, step }) => `${object} ${step}`)).toEqual(
      real.results.map(({ object, step }) => `${object} ${step}`),
    );
    expect(ours.watches).toEqual([]);
    const protobuf = ours.bodies['POST application/vnd.kubernetes.protobuf'] ?? 0;
    if (form === 'typed') expect(protobuf).toBeGreaterThan(45);
    else expect(protobuf).toBe(0);
  }, 300_000);

  it('stays in sync while watches break and histories expire', async () => {
    // Faults depend on the client's progress, not on time. A fast client would finish before a timed fault, and a
    // client with repeated faults waits for up to a minute before each new list.
    const counts = { POST: 0, DELETE: 0 };
    const struck: string[] = [];
    const strike = (place: string): void => {
      struck.push(place);
      local.expireHistory();
      local.dropWatches();
    };
    const end = failRequests(local, {
      match: ({ method }) => {
        if (method !== 'POST' && method !== 'DELETE') return false;
        counts[method] += 1;
        if (counts[method] % 25 === 0 && struck.length < 3) setImmediate(strike, `${method} ${counts[method]}`);
        return false;
      },
    });
    const { results } = await play(kubeconfig, 'typed', 'troubled').finally(end);
    expect(results.filter(({ error }) => error !== '')).toEqual([]);
    expect(struck).toEqual(['POST 25', 'POST 50', 'DELETE 25']);
  }, 300_000);
});
