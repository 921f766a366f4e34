/** `karpenter snapshot` against the local API server, over HTTP. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { CONFIG_MAP, EC2_NODE_CLASS, type KubeObject, NAMESPACE, NODE, NODE_POOL, POD, type Pod } from '#api/objects';
import { connectReader } from '#kube/connection';
import { realClock } from '#lib/clock';
import { startWorld, type World } from '#local/world';
import { SNAPSHOT } from '../../../../scripts/reference/outputs/migrate.ts';
import { parseManifests } from '../../../../src/cli/objects/read.ts';
import type { SnapshotInfo } from '../../../../src/cli/objects/snapshot-info.ts';
import { simulate } from '../../../../src/cli/simulate.ts';
import { type SnapshotOptions, snapshotNotes, type Taken, writeSnapshot } from '../../../../src/cli/snapshot.ts';
import { failRequests } from '../../../support/api-server-faults.ts';
import { nodeClassOf, nodePoolOf } from '../../../support/awsobjects.ts';
import { strictly } from '../../scripts/strictly.ts';
import { SECRET } from './secrets.ts';

const BIN = join(import.meta.dirname, '../../../../bin/karpenter.js');
const SILENT = { at: () => undefined, done: () => undefined };

let world: World;
let folder: string;
beforeEach(async () => {
  world = await startWorld({ clusterName: 'test' });
  folder = mkdtempSync(join(tmpdir(), 'snapshot-'));
  writeFileSync(join(folder, 'kubeconfig'), world.kube.kubeconfig());
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await world.stop();
});

const pod = (name: string, namespace = 'default'): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations: { 'example.com/token': SECRET } },
    spec: {
      containers: [
        { name: 'a', image: 'a', env: [{ name: 'T', value: SECRET }], resources: { requests: { cpu: '1' } } },
      ],
    },
  }) as unknown as Pod;

/** Pod that claims a device of a driver without static table. */
const CLAIMING = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: claiming, namespace: default}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: one}]
  containers: [{name: main, image: pause}]
`;

async function populate(): Promise<void> {
  const { client } = world.kube;
  await client.create(EC2_NODE_CLASS, nodeClassOf('test', { userData: SECRET }));
  await client.create(NODE_POOL, nodePoolOf());
  await client.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'web' } });
  await client.create(POD, pod('one'));
  await client.create(POD, pod('two', 'web'));
}

async function snapshot(
  options: Partial<SnapshotOptions> = {},
): Promise<Partial<Taken> & { readonly error?: Error; readonly text: string }> {
  const chunks: string[] = [];
  const to = new Writable({
    write: (chunk, _, done) => {
      chunks.push(String(chunk));
      done();
    },
  });
  const client = connectReader({ clock: realClock(), url: world.kube.url });
  try {
    const taken = await writeSnapshot(client, to, { redact: true, output: 'yaml', version: '0', ...options }, SILENT);
    return { ...taken, text: chunks.join('') };
  } catch (error) {
    return { error: error as Error, text: chunks.join('') };
  } finally {
    client.close();
  }
}

const objectsIn = (text: string): readonly KubeObject[] => parseManifests(text, 'x').map(({ object }) => object);
const names = (text: string, kind: string): readonly string[] =>
  objectsIn(text).flatMap((object) => (object.kind === kind ? [object.metadata.name] : []));

describe('a snapshot', () => {
  it.each(['yaml', 'json'] as const)('contains in %s the input of commands, and no secret', async (output) => {
    await populate();
    const { text, info } = await snapshot({ output });
    expect(text).not.toContain(SECRET);
    expect(names(text, 'Pod')).toEqual(['one', 'two']);
    expect(names(text, 'NodePool')).toEqual(['default']);
    expect(names(text, 'CustomResourceDefinition')).toContain('nodepools.karpenter.sh');
    expect(info).toMatchObject({
      redacted: true,
      notRead: [],
      notServed: ['Provisioner', 'AWSNodeTemplate', 'Machine', 'DeviceTaintRule'],
    });
    expect(objectsIn(text).at(-1)).toEqual(info);
    expect(strictly(SNAPSHOT, parse(text))).toEqual([]);
    const file = join(folder, 'now.txt');
    writeFileSync(file, text);
    const { notes, simulation } = await simulate({ filename: [file] });
    expect(notes.filter((note) => note.includes('is not used'))).toEqual([]);
    expect(simulation.nodeClaims).toHaveLength(0);
    // The NodeClass has no status.
    expect(Object.keys(simulation.unschedulable)).toEqual(['default/one', 'web/two']);
  });

  it('contains declared devices, and no other ConfigMap', async () => {
    const { client } = world.kube;
    const configMap = (name: string, labels: Readonly<Record<string, string>>) => ({
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'kube-system', labels } },
      data: { 'gpu.yaml': `# ${SECRET}\ndriver: gpu.example.com\npools: [{name: gpus, devices: [{name: gpu-0}]}]` },
    });
    await client.create(CONFIG_MAP, configMap('mine', { 'karpenter.sh/device-templates': 'true' }));
    await client.create(CONFIG_MAP, configMap('other', {}));
    const { text } = await snapshot({ namespaces: ['web'] });
    expect(text).not.toContain(SECRET);
    expect(names(text, 'ConfigMap')).toEqual(['mine']);

    const file = join(folder, 'now.yaml');
    const example = (name: string) => join(import.meta.dirname, '../../../../examples', name);
    const cluster = ['nodepool.yaml', 'ec2nodeclass.yaml'].map(example);
    writeFileSync(file, text);
    const claiming = join(folder, 'claiming.yaml');
    writeFileSync(claiming, CLAIMING);
    const launched = async (...files: readonly string[]) =>
      (await simulate({ filename: [...cluster, claiming, ...files], nowMs: 0, dra: true })).simulation.nodeClaims;
    expect(await launched()).toEqual([]);
    expect(await launched(file)).toHaveLength(1);
  });

  it('contains everything except managed fields if it is not redacted', async () => {
    await populate();
    const { text } = await snapshot({ redact: false });
    expect(text).toContain(SECRET);
    expect(text).not.toContain('managedFields');
  });

  it('reports in every result that other namespaces are missing if it contains some', async () => {
    await populate();
    const { text, info } = await snapshot({ namespaces: ['web'], output: 'json' });
    expect(names(text, 'Pod')).toEqual(['two']);
    expect(names(text, 'NodePool')).toEqual(['default']);
    expect(info?.namespaces).toEqual(['web']);
    const file = join(folder, 'now.json');
    writeFileSync(file, text);
    expect((await simulate({ filename: [file] })).simulation.unknown).toContainEqual(
      expect.stringContaining('outside of the namespaces web'),
    );
  });

  it('skips forbidden kinds, and commands that need them report that', async () => {
    await populate();
    failRequests(world.kube.server, {
      match: /poddisruptionbudgets/,
      status: 403,
      message: 'pdbs are forbidden',
    });
    failRequests(world.kube.server, { match: /validatingwebhook/, status: 403, message: 'no webhooks' });
    const taken = await snapshot();
    const info = taken.info as SnapshotInfo;
    expect(info.notRead).toEqual([
      {
        kind: 'PodDisruptionBudget',
        why: 'pdbs are forbidden',
        effect: 'nodes appear disruptable although a PodDisruptionBudget blocks them',
      },
      { kind: 'ValidatingWebhookConfiguration', why: 'no webhooks', effect: expect.any(String) },
    ]);
    expect(snapshotNotes({ info, counts: taken.counts ?? new Map() })[0]).toBe(
      'PodDisruptionBudgets are not in the snapshot (pdbs are forbidden): nodes appear disruptable although a PodDisruptionBudget blocks them',
    );
    const file = join(folder, 'now.yaml');
    writeFileSync(file, taken.text);
    expect((await simulate({ filename: [file] })).simulation.unknown).toContainEqual(
      expect.stringContaining('PodDisruptionBudgets could not be read by the snapshot'),
    );
  });

  it('fails if all kinds are forbidden', async () => {
    failRequests(world.kube.server, { match: /nodepools|nodes|pods/, status: 403, message: 'forbidden to you' });
    expect((await snapshot()).error?.message).toMatch(
      /^the cluster cannot be read: forbidden to you; use a kubeconfig/,
    );
  });

  it('is rejected by every command if it is incomplete', async () => {
    await populate();
    failRequests(world.kube.server, { match: /GET .*\/pods\?/, status: 400, message: 'broken' });
    for (const output of ['yaml', 'json'] as const) {
      const { error, text } = await snapshot({ output });
      expect(error?.message).toBe('broken');
      expect(text).toContain('NodePool');
      expect(() => parseManifests(text, 'x')).toThrow(/kind is missing|not valid YAML/);
    }
  });

  it('reads in pages, and each object once if the history expires between pages', async () => {
    for (let at = 0; at < 510; at++)
      await world.kube.client.create(NODE, { apiVersion: 'v1', kind: 'Node', metadata: { name: `node-${at}` } });
    const limits: unknown[] = [];
    failRequests(world.kube.server, {
      match: ({ path, query }) => {
        if (!path.endsWith('/nodes')) return false;
        limits.push(query.get('limit'));
        return query.has('continue');
      },
      status: 410,
    });
    const { text } = await snapshot({ output: 'json' });
    expect(limits).toEqual(['500', '500', null]);
    expect(new Set(names(text, 'Node')).size).toBe(510);
    expect(names(text, 'Node')).toHaveLength(510);
  });
});

describe('the command', () => {
  async function run(...args: readonly string[]) {
    const file = join(folder, 'out');
    const output = createWriteStream(file);
    await once(output, 'open');
    const child = spawn(process.execPath, [BIN, 'snapshot', '--kubeconfig', join(folder, 'kubeconfig'), ...args], {
      stdio: ['ignore', output, 'pipe'],
    });
    let errors = '';
    child.stderr?.on('data', (chunk) => {
      errors += String(chunk);
    });
    const [code] = (await once(child, 'close')) as [number];
    return { code, errors, text: readFileSync(file, 'utf8') };
  }

  it('writes a file, and prints a summary', async () => {
    await populate();
    const { code, errors, text } = await run();
    expect({ code, errors }).toEqual({
      code: 0,
      errors: expect.stringMatching(/^note: \d+ objects: 0 Nodes, 2 Pods, 1 NodePool, 0 NodeClaims\n$/),
    });
    expect(names(text, 'Pod')).toEqual(['one', 'two']);
  });

  it('lists the existing contexts', async () => {
    expect(await run('--context', 'other')).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/Cannot find context "other" in the kubeconfig; existing contexts: \w+/),
    });
  });
});
