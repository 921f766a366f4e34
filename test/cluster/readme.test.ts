/**
 * The install section of the README, command by command, with real helm and kubectl on a real control plane. aws and
 * docker are fakes that record their arguments, and the operator runs outside the cluster.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DEPLOYMENT } from '../../src/api/kinds.ts';
import { commandsUnder } from '../support/readme-commands.ts';
import { templateParameters } from '../unit/examples/iam.ts';
import { CLUSTER_NAME, type Cluster, NAMESPACE, ROOT, startCluster, until } from './harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';
import { type Shell, startShell } from './harness/shell.ts';

describe('the install section of the README', () => {
  let cluster: Cluster;
  let operator: OperatorProcess | undefined;
  let shell: Shell;
  let notes: string;
  let commands: readonly string[];
  const done: string[] = [];

  beforeAll(async () => {
    cluster = await startCluster({ values: null });
    const bin = join(cluster.plane.folder, 'bin');
    notes = join(cluster.plane.folder, 'asked');
    await mkdir(bin);
    for (const tool of ['aws', 'docker'])
      await writeFile(join(bin, tool), `#!/bin/sh\necho "${tool} $*" >> ${notes}\n`, { mode: 0o755 });
    shell = await startShell(cluster.plane.folder, cluster.plane.kubeconfig, { PATH: bin });
    commands = await commandsUnder('Install on EKS');
  }, 180_000);
  afterAll(async () => {
    await operator?.stop();
    await cluster?.stop();
  }, 60_000);

  /** Replaces the names that readers must replace. */
  const own = (command: string): string => command.replace('CLUSTER_NAME=my-cluster', `CLUSTER_NAME=${CLUSTER_NAME}`);

  /** Runs the commands up to the one that matches, with their exported variables. */
  async function follow(last: RegExp): Promise<string> {
    let output = '';
    for (const command of commands.slice(done.length)) {
      const exports = done.filter((line) => line.startsWith('export '));
      output = await shell([...exports.map(own), ended(own(command))].join('\n'));
      done.push(command);
      if (last.test(command)) return output;
    }
    throw new Error(`No command matches ${last}, or it came before ${done.at(-1)}`);
  }

  /** A watch runs until the reader stops it. Containers do not run here, so their logs do not exist. */
  function ended(command: string): string {
    if (/ -w$/.test(command)) return `${command.slice(0, -3)}\ntimeout --signal=INT 3 ${command} || test $? = 124`;
    return command.replace(/^kubectl logs -f /, 'kubectl get pods --output=name ');
  }

  it('runs from the first command to the last', () => {
    expect(commands.length).toBeGreaterThanOrEqual(9);
    expect(commands[0]).toMatch(/^export CLUSTER_NAME=my-cluster/);
    expect(commands.at(-1)).toMatch(/^kubectl logs/);
  });

  it('creates the AWS resources and an image', async () => {
    await follow(/^docker/);
    const asked = await readFile(notes, 'utf8');
    const [, file = ''] = /--template-file (\S+)/.exec(asked) ?? [];
    const [, overrides = ''] = /--parameter-overrides (.*)/.exec(asked) ?? [];
    const given = overrides.split(' ').map((pair) => pair.split('=')[0]);
    const text = await readFile(join(ROOT, file), 'utf8');
    expect(templateParameters(text)).toEqual(expect.arrayContaining(given));
    expect(overrides).toContain(`=${CLUSTER_NAME}`);
    expect(asked).toContain('CAPABILITY_NAMED_IAM');
    expect(asked).toMatch(
      /docker build --build-arg SOURCE_REVISION=[0-9a-f]{40} -t \S+\/karpenter-ts:0.1.0 \.\ndocker push \S+:0.1.0/,
    );
    expect(await readdir(ROOT)).toContain('Dockerfile');
  });

  it('installs both charts', async () => {
    expect(await follow(/^helm upgrade --install karpenter-crd/)).toContain('STATUS: deployed');
    expect(await follow(/^helm upgrade --install karpenter /)).toContain('STATUS: deployed');
    const found = await cluster.kube.find(DEPLOYMENT, { name: 'karpenter', namespace: NAMESPACE });
    expect(JSON.stringify(found?.spec)).toContain('"image":"registry.example.com/karpenter-ts:0.1.0"');
    await cluster.renewToken();
    operator = await startOperatorProcess(cluster);
  }, 180_000);

  it('launches nodes for the example', async () => {
    await follow(/^kubectl scale/);
    await until(
      cluster,
      'all pods to run',
      async () => {
        const found = await cluster.kube.find(DEPLOYMENT, { name: 'inflate', namespace: 'default' });
        return (
          (found as { readonly status?: { readonly readyReplicas?: number } } | undefined)?.status?.readyReplicas === 20
        );
      },
      120_000,
    );
  }, 180_000);

  it('has examples without unknown fields', async () => {
    const files = (await readdir(join(ROOT, 'examples'))).filter((file) => file.endsWith('.yaml'));
    expect(files.length).toBeGreaterThanOrEqual(3);
    for (const file of files)
      expect(await shell(`kubectl apply --dry-run=server --validate=strict -f examples/${file}`)).toContain(
        '(server dry run)',
      );
  }, 60_000);

  it('prints the nodes, and finds the pods whose logs it names', async () => {
    expect(await follow(/^kubectl get nodeclaims -w/)).toMatch(/default-\w+/);
    const pods = await follow(/^kubectl logs/);
    expect(pods.match(/^pod\/karpenter-/gm)).toHaveLength(2);
    expect(done).toEqual(commands);
  }, 60_000);
});
