/**
 * docs/try-on-kind.md, command by command, on a real control plane: `karpenter local --join` adds AWS and nodes to it. kind
 * and docker are fakes, and the operator runs outside the cluster with the environment of the chart.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { NODE } from '#api/objects';
import { freePort } from '../support/free-port.ts';
import { shellCommands } from '../support/readme-commands.ts';
import { chartEnv, NAMESPACE, ROOT } from './harness/cluster.ts';
import { type Installation, startInstallation } from './harness/installation.ts';
import { eventually, type Process, startProcess } from './harness/processes.ts';
import { type Shell, startShell } from './harness/shell.ts';

const FAKES = {
  kind: 'true',
  docker: 'case "$*" in "network inspect"*) printf "fc00:f853:ccd:e793::1\\n127.0.0.1\\n";; esac',
};

describe('the procedure in docs/try-on-kind.md', () => {
  let installation: Installation;
  let shell: Shell;
  let kubeconfig: string;
  let port: number;
  const running: Process[] = [];
  const exports: string[] = [];

  beforeAll(async () => {
    installation = await startInstallation();
    const { plane } = installation;
    const bin = join(plane.folder, 'bin');
    await mkdir(bin);
    for (const [tool, script] of Object.entries(FAKES))
      await writeFile(join(bin, tool), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    kubeconfig = await asKind(plane.kubeconfig, join(plane.folder, 'kind.kubeconfig'));
    shell = await startShell(plane.folder, kubeconfig, { PATH: bin });
    port = await freePort();
  }, 180_000);
  afterAll(async () => {
    for (const one of running.reverse()) await one.stop();
    await installation?.plane.stop();
  }, 60_000);

  const background = async (name: string, argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Process> => {
    const { NODE_OPTIONS: _, ...inherited } = process.env;
    const { folder } = installation.plane;
    const started = await startProcess({
      name,
      path: process.execPath,
      argv,
      folder,
      env: { ...inherited, KUBECONFIG: kubeconfig, ...env },
    });
    running.push(started);
    return started;
  };

  /** Runs the commands of a section. The control plane has no node, so the local world adds one for the operator. */
  async function play(heading: string): Promise<string> {
    const text = await readFile(join(ROOT, 'docs/try-on-kind.md'), 'utf8');
    const section = text.slice(text.indexOf(`\n## ${heading}\n`)).split('\n## ')[1] ?? '';
    let output = '';
    for (const command of shellCommands(section)) {
      const own = command.replaceAll('4566', String(port)).replace(/^npm ci$/, 'true');
      if (own.startsWith('export ')) exports.push(own);
      else if (own.startsWith('npx karpenter local')) await addToCluster(own);
      else if (own.startsWith('kubectl taint')) expect(own).toMatch(/ CriticalAddonsOnly=true:NoSchedule$/);
      else output += await shell([...exports, own].join('\n'));
    }
    return output;
  }

  async function addToCluster(command: string): Promise<void> {
    const words = (await shell([...exports, `echo ${command}`].join('\n'))).trim().split(' ');
    const local = await background(
      'local',
      [join(ROOT, 'bin/karpenter.js'), ...words.slice(2), '--system-nodes', '1'],
      {},
    );
    await eventually(
      'the export commands',
      async () => local.log().includes('Press Ctrl-C to stop.') || undefined,
      60_000,
    );
    expect(local.log()).toContain(`export AWS_ENDPOINT_URL=http://127.0.0.1:${port}\n`);
    const { items } = await eventually(
      'the node of the operator',
      async () => {
        const nodes = await installation.kube.list(NODE);
        return nodes.items.length === 1 ? nodes : undefined;
      },
      60_000,
    );
    await shell(`kubectl taint nodes ${items[0]?.metadata.name} CriticalAddonsOnly=true:NoSchedule`);
  }

  it('installs the operator beside the local AWS', async () => {
    await play('1. Create the cluster');
    await play('2. Start AWS and the kubelets');
    expect((await play('3. Install the operator')).match(/STATUS: deployed/g)).toHaveLength(2);
    const env = await chartEnv(installation.kube);
    expect(env).toMatchObject({ AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`, CLUSTER_NAME: 'local' });
    await installation.renewToken();
    const file = join(installation.plane.folder, 'operator.kubeconfig');
    await writeFile(file, installation.kubeconfig);
    const ports = { METRICS_PORT: '0', HEALTH_PROBE_PORT: '0', SYSTEM_NAMESPACE: NAMESPACE };
    await background('operator', [join(ROOT, 'src/program.ts')], { ...env, ...ports, KUBECONFIG: file });
  }, 240_000);

  it('launches nodes without addresses, which network plugins would add routes to', async () => {
    expect(await play('4. Launch nodes')).toContain('deployment "inflate" successfully rolled out');
    const { items } = await installation.kube.list(NODE);
    const launched = items.filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'default');
    expect(launched.length).toBeGreaterThan(0);
    for (const { status, metadata } of launched)
      expect(status).toMatchObject({ addresses: [{ type: 'Hostname', address: metadata.name }] });
    const { items: all } = (await installation.kube.raw('GET', '/apis/storage.k8s.io/v1/storageclasses')) as {
      readonly items: readonly unknown[];
    };
    // The cluster keeps its own default storage class.
    expect(all).toEqual([]);
  }, 240_000);
});

/** Writes a kubeconfig like that of kind, whose context has the name of the cluster. */
async function asKind(from: string, file: string): Promise<string> {
  const config = parse(await readFile(from, 'utf8')) as {
    readonly contexts: readonly { readonly name: string; readonly context: object }[];
  };
  const [context] = config.contexts;
  const contexts = [{ ...context, name: 'kind-karpenter' }];
  await writeFile(file, stringify({ ...config, contexts, 'current-context': 'kind-karpenter' }));
  return file;
}
