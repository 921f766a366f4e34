import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SERVICE } from '#api/objects';
import { steadyClock } from '#lib/clock';
import { type LocalApiServer, startApiServer } from '#local/testing';
import { startWorld } from '#local/world';
import { clientEnvironment } from '../../../src/cli/demo.ts';
import { localCommand } from '../../../src/cli/local.ts';
import { clusterToJoin } from '../../../src/cli/local-join.ts';
import { writeLocalKubeconfig } from '../../../src/cli/local-kubeconfig.ts';
import { connect } from '../../support/kube-api.ts';

describe('the kubeconfig of karpenter local', () => {
  const home = process.cwd();
  let folder: string;
  const servers: LocalApiServer[] = [];
  const start = async (): Promise<LocalApiServer> => {
    const server = await startApiServer({ clock: steadyClock() });
    servers.push(server);
    return server;
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'karpenter-local-test-'));
    process.chdir(folder);
  });
  afterEach(async () => {
    process.chdir(home);
    for (const server of servers.splice(0)) await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('has a unique name for a second cluster in a folder', async () => {
    const [one, other] = [await start(), await start()];
    const first = await writeLocalKubeconfig(undefined, one);
    const second = await writeLocalKubeconfig(undefined, other);
    expect([first, second].map((file) => basename(file))).toEqual([
      'karpenter-local.kubeconfig',
      `karpenter-local-${other.port}.kubeconfig`,
    ]);
    expect(await readFile(first, 'utf8')).toContain(one.url);
    expect(await readFile(second, 'utf8')).toContain(other.url);
  });

  it('does not replace the kubeconfig of a running cluster that the user names', async () => {
    const [one, other] = [await start(), await start()];
    const file = await writeLocalKubeconfig('mine', one);
    await expect(writeLocalKubeconfig('mine', other)).rejects.toThrow(
      `Cannot write mine: it is the kubeconfig of ${one.url}, which is running. Choose another file with --kubeconfig.`,
    );
    expect(await readFile(file, 'utf8')).toContain(one.url);
  });

  it('is an error that names the folder if the folder is missing', async () => {
    await expect(writeLocalKubeconfig('nowhere/mine', await start())).rejects.toThrow(
      /^the kubeconfig cannot be written to .*nowhere\/mine \(.*ENOENT.*\); choose a file/,
    );
  });

  it('replaces the kubeconfig of a stopped cluster', async () => {
    const one = await start();
    await writeLocalKubeconfig(undefined, one);
    await servers.pop()?.close();
    const file = await writeLocalKubeconfig(undefined, await start());
    expect(basename(file)).toBe('karpenter-local.kubeconfig');
    expect(await readFile(file, 'utf8')).not.toContain(one.url);
  });
});

describe('a local world', () => {
  it('reports the same cluster in Kubernetes and EKS, and provides the AWS endpoint to clients', async () => {
    const world = await startWorld();
    try {
      const env = world.env();
      const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
      const eks = new EKSClient({ endpoint: world.aws.url, region: world.aws.region, credentials });
      const { cluster } = await eks.send(new DescribeClusterCommand({ name: world.clusterName }));
      eks.destroy();
      const version = (await connect(world.kube.url).raw('GET', '/version')) as { major: string; minor: string };
      expect(cluster?.version).toBe(`${version.major}.${version.minor}`);
      const { items } = await connect(world.kube.url).list(SERVICE);
      const addresses = items.map(({ spec }) => (spec as { clusterIP: string }).clusterIP);
      expect(addresses.length).toBeGreaterThan(0);
      const [network = ''] = (cluster?.kubernetesNetworkConfig?.serviceIpv4Cidr ?? '').split('.0.0/16');
      expect(network).not.toBe('');
      for (const address of addresses) expect(address.startsWith(`${network}.`)).toBe(true);
      expect(clientEnvironment(env)).not.toHaveProperty('CLUSTER_NAME');
      expect(clientEnvironment(env)).toMatchObject({
        KUBECONFIG: env.KUBECONFIG,
        AWS_ENDPOINT_URL: world.aws.url,
        AWS_REGION: world.aws.region,
        AWS_DEFAULT_REGION: world.aws.region,
        AWS_ACCESS_KEY_ID: expect.any(String),
        AWS_SECRET_ACCESS_KEY: expect.any(String),
      });
    } finally {
      await world.stop();
    }
  });
});

describe('a cluster to join', () => {
  const given = process.env.KUBECONFIG;
  afterEach(() => {
    if (given === undefined) delete process.env.KUBECONFIG;
    else process.env.KUBECONFIG = given;
  });

  /** Sets a kubeconfig with one context for each server. */
  function choose(servers: Readonly<Record<string, string>>): void {
    const names = Object.keys(servers);
    process.env.KUBECONFIG = JSON.stringify(
      {
        clusters: names.map((name) => ({ name, cluster: { server: servers[name] } })),
        users: names.map((name) => ({ name, user: { token: `token of ${name}` } })),
        contexts: names.map((name) => ({ name, context: { cluster: name, user: name } })),
        'current-context': names[0],
      },
      undefined,
      2,
    );
  }

  it.each([
    'https://127.0.0.1:6443',
    'https://0.0.0.0:6443',
    'https://[::1]:6443',
    'https://192.168.49.2:8443',
    'https://kubernetes.docker.internal:6443',
  ])('may be served at %s', (server) => {
    choose({ work: 'https://ABC.gr7.us-west-2.eks.amazonaws.com', kind: server });
    const { client, kubeconfig } = clusterToJoin('kind');
    client.close();
    expect(client.url).toBe(server);
    // Credentials of other clusters are not copied into the file of the local cluster.
    expect(kubeconfig).toContain('token of kind');
    expect(kubeconfig).not.toContain('token of work');
  });

  it.each([
    'https://ABC.gr7.us-west-2.eks.amazonaws.com',
    'https://203.0.113.7:6443',
    'https://[2001:db8::1]:6443',
  ])('is refused at %s, because pods on its nodes would have no containers', (server) => {
    choose({ work: server });
    expect(() => clusterToJoin('work')).toThrow(
      /^Cannot join https:.*, the cluster of context "work": it is not on this machine or in a private network; use /,
    );
  });

  it('must be a context of the kubeconfig', () => {
    choose({ kind: 'https://127.0.0.1:6443' });
    expect(() => clusterToJoin('kind-kind')).toThrow('Cannot find context "kind-kind" in the kubeconfig');
  });

  it.each([
    [['--join', 'kind', '--kube-port', '6443'], /'--join <context>' cannot be used with option '--kube-port <port>'/],
    [['--aws-address', '0.0.0.0'], /must be an IP address of this machine/],
    [['--aws-address', 'localhost'], /must be an IP address of this machine/],
  ])('is not combined with the arguments %j', async (args, message) => {
    const command = localCommand()
      .exitOverride()
      .configureOutput({ writeErr: () => undefined });
    await expect(command.parseAsync(args, { from: 'user' })).rejects.toThrow(message);
  });
});
