/**
 * The install section of the README, and docs/install.md, upgrade.md and uninstall.md, command by command, with real helm
 * and kubectl on a real control plane. aws and docker are fakes that record their arguments, and the operator runs outside
 * the cluster.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DEPLOYMENT } from '#api/objects';
import { commandsUnder, shellCommands } from '../support/readme-commands.ts';
import { templateParameters } from '../unit/examples/iam.ts';
import { CLUSTER_NAME, type Cluster, NAMESPACE, ROOT, startCluster, until } from './harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';
import { type Shell, startShell } from './harness/shell.ts';

/** Returns a program that records its arguments, and prints the output that other commands use. */
const fakeTool = (tool: string, notes: string): string => `#!/bin/sh
echo "${tool} $*" >> ${notes}
case "$*" in
  "sts get-caller-identity"*) echo 111122223333 ;;
  "ecr get-login-password"*) echo password ;;
  "eks describe-cluster"*) echo "subnet-1 subnet-2 sg-1" ;;
  # The other end of the pipe would fail if its output were not read.
  *--password-stdin*) cat > /dev/null ;;
esac
`;

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
    for (const tool of ['aws', 'docker']) await writeFile(join(bin, tool), fakeTool(tool, notes), { mode: 0o755 });
    shell = await startShell(cluster.plane.folder, cluster.plane.kubeconfig, { PATH: bin });
    commands = await commandsUnder('README.md', 'Install on EKS');
  }, 180_000);
  afterAll(async () => {
    await operator?.stop();
    await cluster?.stop();
  }, 60_000);

  /** Replaces the names that readers must replace. */
  const own = (command: string): string => command.replace('CLUSTER_NAME=my-cluster', `CLUSTER_NAME=${CLUSTER_NAME}`);

  const exported = (): readonly string[] => done.filter((line) => line.startsWith('export ')).map(own);

  /** Runs commands of another page with the variables of the README, and returns the output of each. */
  async function play(page: string, headings: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const output = new Map<string, string>();
    for (const heading of headings)
      for (const command of await commandsUnder(page, heading))
        output.set(command, await shell([...exported(), own(command)].join('\n')));
    return output;
  }

  /** Runs the commands up to the one that matches, with their exported variables. */
  async function follow(last: RegExp): Promise<string> {
    let output = '';
    for (const command of commands.slice(done.length)) {
      output = await shell([...exported(), ended(own(command))].join('\n'));
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

  it('creates an image and the AWS resources', async () => {
    await follow(/^aws ec2 create-tags/);
    const asked = await readFile(notes, 'utf8');
    const [, file = ''] = /--template-file (\S+)/.exec(asked) ?? [];
    const [, overrides = ''] = /--parameter-overrides (.*)/.exec(asked) ?? [];
    const given = overrides.split(' ').map((pair) => pair.split('=')[0]);
    const text = await readFile(join(ROOT, file), 'utf8');
    expect(templateParameters(text)).toEqual(expect.arrayContaining(given));
    expect(overrides).toContain(`=${CLUSTER_NAME}`);
    expect(asked).toContain('CAPABILITY_NAMED_IAM');
    const registry = '111122223333.dkr.ecr.us-west-2.amazonaws.com';
    expect(asked).toContain(`docker login --username AWS --password-stdin ${registry}\n`);
    expect(asked).toMatch(/docker build --platform linux\/amd64 --build-arg SOURCE_REVISION=[0-9a-f]{40} /);
    expect(asked).toContain(`docker push ${registry}/karpenter-ts:0.1.0\n`);
    expect(asked).toContain(`Key=karpenter.sh/discovery,Value=${CLUSTER_NAME} --resources subnet-1 subnet-2 sg-1\n`);
    expect(await readdir(ROOT)).toContain('Dockerfile');
  });

  it('installs both charts', async () => {
    expect(await follow(/^helm upgrade --install karpenter-crd/)).toContain('STATUS: deployed');
    expect(await follow(/^helm upgrade --install karpenter /)).toContain('STATUS: deployed');
    const found = await cluster.kube.find(DEPLOYMENT, { name: 'karpenter', namespace: NAMESPACE });
    expect(JSON.stringify(found?.spec)).toContain(
      '"image":"111122223333.dkr.ecr.us-west-2.amazonaws.com/karpenter-ts:0.1.0"',
    );
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

  it('describes the same charts and examples in docs/install.md', async () => {
    const output = await play('docs/install.md', ['3. Install the charts', '4. Create a NodePool']);
    const text = [...output.values()].join('\n');
    expect(text.match(/STATUS: deployed/g)).toHaveLength(2);
    expect(text).toContain('nodepool.karpenter.sh/default condition met');
    expect(text).toContain('deployment "inflate" successfully rolled out');
  }, 180_000);

  it('upgrades and rolls back by docs/upgrade.md', async () => {
    const page = await readFile(join(ROOT, 'docs/upgrade.md'), 'utf8');
    const output: string[] = [];
    for (const command of shellCommands(page)) output.push(await shell([...exported(), own(command)].join('\n')));
    const text = output.join('\n');
    expect(text.match(/STATUS: deployed/g)).toHaveLength(2);
    expect(text).toMatch(/nodepool\S+default/);
    expect(text).toContain('Rollback was a success');
    const history = await shell('helm history karpenter --namespace kube-system --output json');
    expect(JSON.parse(history).at(-1)).toMatchObject({ status: 'deployed' });
    expect(await shell('helm get values karpenter --namespace kube-system')).toContain(`clusterName: ${CLUSTER_NAME}`);
  }, 180_000);

  it('uninstalls everything by docs/uninstall.md', async () => {
    await play('docs/uninstall.md', ['Remove the nodes']);
    expect(cluster.world.aws.instances.list().filter(({ state }) => state === 'running')).toEqual([]);
    await operator?.stop();
    await play('docs/uninstall.md', ['Remove the operator', 'Remove the rest from the cluster']);
    const kinds = (await shell('kubectl api-resources --verbs=list -o name')).trim().split('\n');
    const listed = kinds.filter((kind) => !/^events|^pods\.metrics|^nodes\.metrics/.test(kind)).join();
    const left = (await shell(`kubectl get ${listed} -A -o name --ignore-not-found`)).split('\n');
    expect(left.filter((name) => name.includes('karpenter'))).toEqual([]);
    await play('docs/uninstall.md', ['Remove the rest from the account']);
    expect(await readFile(notes, 'utf8')).toContain(
      `aws cloudformation delete-stack --stack-name Karpenter-${CLUSTER_NAME}`,
    );
  }, 240_000);
});
