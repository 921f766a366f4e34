/**
 * The image on real kubelets: installation by the commands of the README, security, upgrades, failures and removal. The
 * tests share one cluster and run in this order.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DEPLOYMENT, NODE_CLAIM, POD } from '#api/objects';
import { CLUSTER_NAME, NAMESPACE, ROOT, until, type Values } from '../cluster/harness/cluster.ts';
import { imageOptions } from '../support/image.ts';
import { commandsUnder } from '../support/readme-commands.ts';
import { arm64Node } from './harness/arm64.ts';
import { AWS_ENDPOINT, SILENT_ENDPOINT } from './harness/aws-gateway.ts';
import { run } from './harness/commands.ts';
import { type DeployedCluster, isReady, startDeployedCluster } from './harness/deployed-cluster.ts';
import { ENV } from './harness/folders.ts';
import { IMAGE } from './harness/images.ts';
import { findLease, LeaseHistory } from './harness/lease-history.ts';
import {
  containerOf,
  createLonePod,
  findPod,
  logOf,
  type OperatorPod,
  operatorPods,
  processOf,
} from './harness/operator-pods.ts';

const ROLE = `arn:aws:iam::000000000000:role/KarpenterController-${CLUSTER_NAME}`;
const IRSA_FOLDER = '/var/run/secrets/eks.amazonaws.com/serviceaccount';
const POD_IDENTITY_FOLDER = '/var/run/secrets/pods.eks.amazonaws.com/serviceaccount';
const HAND_OVER_LIMIT_MS = 5_000;
const MINUTES_MS = 60_000;

/** Variables, volumes and resources that a user of EKS does not set: the webhooks of EKS add them to pods. */
function webhookValues(env: Readonly<Record<string, string>>, folder: string, audience: string, path: string): Values {
  const name = 'aws-token';
  return {
    controller: {
      env: Object.entries({ AWS_ENDPOINT_URL: AWS_ENDPOINT, AWS_REGION: 'us-west-2', ...env }).map(([key, value]) => ({
        name: key,
        value,
      })),
      extraVolumeMounts: [{ name, mountPath: folder, readOnly: true }],
      resources: { requests: { cpu: '100m', memory: '512Mi' }, limits: { cpu: '1', memory: '512Mi' } },
    },
    extraVolumes: [
      { name, projected: { sources: [{ serviceAccountToken: { audience, expirationSeconds: 86_400, path } }] } },
    ],
  };
}

const IRSA = webhookValues(
  { AWS_ROLE_ARN: ROLE, AWS_WEB_IDENTITY_TOKEN_FILE: `${IRSA_FOLDER}/token` },
  IRSA_FOLDER,
  'sts.amazonaws.com',
  'token',
);
const POD_IDENTITY = webhookValues(
  {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials',
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: `${POD_IDENTITY_FOLDER}/eks-pod-identity-token`,
  },
  POD_IDENTITY_FOLDER,
  'pods.eks.amazonaws.com',
  'eks-pod-identity-token',
);

const { [ENV.skipped]: skipped, [ENV.work]: work = '' } = process.env;

(skipped === undefined ? describe : describe.skip)('the image on real kubelets', () => {
  let cluster: DeployedCluster;
  let leases: LeaseHistory;
  beforeAll(async () => {
    cluster = await startDeployedCluster(CLUSTER_NAME);
    leases = new LeaseHistory(cluster);
  }, 5 * MINUTES_MS);
  afterAll(async () => {
    await leases?.stop();
    await cluster?.stop();
  }, MINUTES_MS);

  const eventually = async <T>(
    what: string,
    probe: () => Promise<T | undefined | false> | T | undefined | false,
    limitMs = MINUTES_MS,
  ): Promise<T> => {
    try {
      return await until(cluster, what, probe, limitMs);
    } catch (error) {
      const pods = await cluster.kubectl('describe', 'pods', '--namespace', NAMESPACE);
      throw new Error(`${String(error)}\n${pods}\n${cluster.nodeTails()}`, { cause: error });
    }
  };

  const helm = async (what: string): Promise<string> => cluster.shell(`helm --namespace ${NAMESPACE} ${what}`);
  /** Upgrades the release with further values. */
  const upgrade = async (values: Values, options: string): Promise<string> =>
    helm(
      `upgrade karpenter charts/karpenter --skip-crds --reuse-values -f ${await cluster.valuesFile(values)} ${options}`,
    );
  const isAvailable = (pod: OperatorPod): boolean => isReady(pod);
  const readyPods = async (count: number): Promise<readonly OperatorPod[]> =>
    eventually(`${count} ready replicas`, async () => {
      const pods = (await operatorPods(cluster)).filter(isAvailable);
      return pods.length === count && pods;
    });
  const holder = async (): Promise<string> => (await findLease(cluster))?.spec?.holderIdentity ?? '';
  const leaderName = async (): Promise<string> => (await holder()).split('_')[0] ?? '';
  const leader = (): Promise<OperatorPod> =>
    eventually('a leader', async () => {
      const name = await leaderName();
      return (await operatorPods(cluster)).find(({ metadata }) => metadata.name === name);
    });
  /** Runs a change, and returns the gaps of the hand-overs meanwhile. */
  const gapsDuring = async (change: () => Promise<unknown>): Promise<readonly number[]> => {
    const before = Math.max(0, leases.length - 1);
    const previous = await holder();
    await change();
    await eventually('another leader', async () => !['', previous].includes(await holder()));
    return leases.handOvers(before).map(({ gapMs }) => gapMs);
  };

  /** Returns the variables of the README, with the name of the cluster and an account instead of the AWS CLI. */
  const settingsOf = (commands: readonly string[]): string =>
    ['aws() { echo 111122223333; }', ...commands.filter((line) => line.startsWith('export '))]
      .join('\n')
      .replace('CLUSTER_NAME=my-cluster', `CLUSTER_NAME=${CLUSTER_NAME}`);

  /** Runs the commands under a heading of a page with the variables of the README. Default: the commands before all headings. */
  const follow = async (page: string, heading?: string): Promise<void> => {
    const settings = settingsOf(await commandsUnder('README.md', 'Install on EKS'));
    const commands = await commandsUnder(page, heading);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) await cluster.shell(`${settings}\n${command}`);
  };
  /** Returns the installation of the operator with the values that the webhooks of EKS stand for. */
  const withValues = async (command: string, values: Values): Promise<string> => {
    const file = await cluster.valuesFile(values);
    return command.replace(/^helm upgrade --install karpenter /, `$& --timeout 120s -f ${file} `);
  };

  describe('installed by the commands of the README', () => {
    it(
      'has a leader and a standby',
      async () => {
        const commands = await commandsUnder('README.md', 'Install on EKS');
        const settings = settingsOf(commands);
        const image = (await cluster.shell(`${settings}\necho "$IMAGE:0.1.0"`)).trim();
        for (const { ctr } of cluster.nodes) await ctr('images', 'tag', IMAGE, image);
        for (const command of commands.filter((line) => line.startsWith('helm ')))
          await cluster.shell(`${settings}\n${await withValues(command, IRSA)}`);
        const pods = await readyPods(2);
        expect(new Set(pods.map(({ spec }) => spec.nodeName)).size).toBe(2);
        const { metadata } = await leader();
        const [standby] = pods.filter((pod) => pod.metadata.name !== metadata.name);
        const lines = await logOf(cluster, standby?.metadata.name ?? '');
        expect(lines.map(({ message }) => message)).toContain('attempting to acquire leader lease');
        expect(lines.map(({ message }) => message)).not.toContain('successfully acquired lease');
      },
      4 * MINUTES_MS,
    );

    it(
      'launches nodes for the pods of docs/install.md with the role of the service account',
      async () => {
        await follow('docs/install.md', '4. Create a NodePool');
        await eventually('20 running pods', async () => {
          const { items } = await cluster.kube.list(POD, { labelSelector: 'app=inflate' });
          return items.filter(({ status }) => status?.phase === 'Running').length === 20;
        });
        expect((await cluster.kube.list(NODE_CLAIM)).items.length).toBeGreaterThan(0);
        const calls = Object.keys(cluster.world.aws.calls.counts());
        expect(calls).toEqual(expect.arrayContaining(['AssumeRoleWithWebIdentity', 'CreateFleet']));
        expect(cluster.gateway.podIdentityRequests).toBe(0);
      },
      2 * MINUTES_MS,
    );

    it('writes one JSON object per line, which kubectl logs prints', async () => {
      const lines = await logOf(cluster, (await leader()).metadata.name);
      expect(lines.find(({ message }) => message === 'successfully acquired lease')).toMatchObject({ level: 'INFO' });
      // The NodePool is created before its EC2NodeClass is ready.
      const unexpected = lines.filter(({ message }) => message !== 'ignoring nodepool, not ready');
      expect(unexpected.filter(({ level }) => level === 'ERROR')).toEqual([]);
    });

    it(
      'passes helm test, which runs the doctor',
      async () => {
        const output = await helm('test karpenter --timeout 90s 2>&1');
        expect(output).toContain('Phase:          Succeeded');
        expect(output).toMatch(/^0 errors, \d+ warnings?, \d+ ok$/m);
        expect(output).toContain('EC2NodeClass default');
        expect(await findPod(cluster, 'karpenter-doctor')).toBeUndefined();
      },
      2 * MINUTES_MS,
    );
  });

  describe('its container', () => {
    const mount = join(work, 'image');
    beforeAll(async () => {
      await mkdir(mount);
      await cluster.nodes[0]?.ctr('images', 'mount', IMAGE, mount);
    });

    it('runs without privileges, with a read-only file system', async () => {
      const pid = processOf(await leader());
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const field = (name: string): string => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)?.[1] ?? '';
      expect(field('Uid')).toBe('65532\t65532\t65532\t65532');
      for (const name of ['CapEff', 'CapPrm', 'CapBnd', 'CapInh', 'CapAmb'])
        expect({ [name]: field(name) }).toEqual({ [name]: '0000000000000000' });
      expect({ noNewPrivileges: field('NoNewPrivs'), seccomp: field('Seccomp') }).toEqual({
        noNewPrivileges: '1',
        seccomp: '2',
      });
      const root = readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
        .split('\n')
        .find((line) => line.split(' ')[4] === '/');
      expect(root?.split(' ')[5]?.split(',')).toContain('ro');
    });

    it('has no shell', async () => {
      const { metadata } = await leader();
      for (const shell of ['/bin/sh', '/bin/bash', '/busybox/sh'])
        await expect(
          cluster.kubectl('exec', '--namespace', NAMESPACE, metadata.name, '--', shell, '-c', 'true'),
        ).rejects.toThrow(/no such file or directory/);
    });

    it('conforms to the restricted level of the pod security standards', async () => {
      const label = 'pod-security.kubernetes.io/enforce=restricted';
      const output = await cluster.shell(
        `kubectl label --dry-run=server --overwrite namespace ${NAMESPACE} ${label} 2>&1; kubectl create namespace odd >/dev/null; kubectl label --dry-run=server namespace odd ${label}`,
      );
      expect(output).not.toMatch(/^Warning: .*violate/im);
    });

    it('contains the bundle with its list of packages, and no source maps', async () => {
      const files = readdirSync(join(mount, 'app'), { recursive: true, encoding: 'utf8' });
      expect(files).toEqual(
        expect.arrayContaining(['main.js', 'doctor.js', 'engine-worker.js', 'sbom.cdx.json', 'page']),
      );
      expect(files.filter((name) => name.endsWith('.map'))).toEqual([]);
      const bytes = files
        .filter((name) => !name.startsWith('compiled'))
        .reduce((sum, name) => sum + statSync(join(mount, 'app', name)).size, 0);
      expect(bytes).toBeLessThan(8e6);
      const sbom = JSON.parse(readFileSync(join(mount, 'app/sbom.cdx.json'), 'utf8')) as {
        readonly components: readonly unknown[];
      };
      expect(sbom.components.length).toBeGreaterThan(30);
    });

    it(
      'contains a bundle that also starts on arm64',
      async () => {
        const [command = '', ...argv] = await arm64Node(() => {});
        const showArchitecture = ['--import', 'data:text/javascript,console.log(process.arch)'];
        const start = [...argv, ...imageOptions(), ...showArchitecture, join(mount, 'app/main.js'), '--help'];
        expect(await run(command, start)).toMatch(/^arm64\n.*--cluster-name/s);
      },
      2 * MINUTES_MS,
    );
  });

  describe('an upgrade', () => {
    it(
      'keeps the replicas by docs/install.md and docs/upgrade.md if nothing has changed',
      async () => {
        const before = (await readyPods(2)).map(({ metadata }) => metadata.name).toSorted();
        const settings = settingsOf(await commandsUnder('README.md', 'Install on EKS'));
        const commands = await commandsUnder('docs/install.md', '3. Install the charts');
        expect(commands).toHaveLength(2);
        for (const command of commands) await cluster.shell(`${settings}\n${await withValues(command, IRSA)}`);
        await follow('docs/upgrade.md');
        expect((await readyPods(2)).map(({ metadata }) => metadata.name).toSorted()).toEqual(before);
      },
      4 * MINUTES_MS,
    );

    it(
      'hands over the lease, and uses EKS Pod Identity if its agent provides credentials',
      async () => {
        const gaps = await gapsDuring(() =>
          upgrade({ ...POD_IDENTITY, podAnnotations: { release: 'second' } }, '--wait --timeout 120s'),
        );
        expect(gaps.length).toBeGreaterThan(0);
        for (const gap of gaps) expect(gap).toBeLessThan(HAND_OVER_LIMIT_MS);
        await readyPods(2);
        expect(cluster.gateway.podIdentityRequests).toBeGreaterThan(0);
      },
      3 * MINUTES_MS,
    );

    it(
      'can be rolled back',
      async () => {
        const gaps = await gapsDuring(() => follow('docs/upgrade.md', 'Roll back'));
        for (const gap of gaps) expect(gap).toBeLessThan(HAND_OVER_LIMIT_MS);
        const pods = await readyPods(2);
        expect(pods.map(({ metadata }) => metadata.annotations?.release)).toEqual([undefined, undefined]);
      },
      3 * MINUTES_MS,
    );

    it(
      'fails and keeps an old replica if AWS does not respond',
      async () => {
        const { controller, ...rest } = POD_IDENTITY as { readonly controller: { readonly env: readonly object[] } };
        const env = [...controller.env.slice(1), { name: 'AWS_ENDPOINT_URL', value: SILENT_ENDPOINT }];
        const old = (await operatorPods(cluster)).map(({ metadata }) => metadata.name);
        try {
          const failed = upgrade({ ...rest, controller: { ...controller, env } }, '--wait --timeout 30s');
          await expect(failed).rejects.toThrow(/not ready|deadline|timed out/);
          const [kept, ...others] = (await operatorPods(cluster)).filter(isAvailable);
          expect(old).toContain(kept?.metadata.name);
          expect(others).toEqual([]);
          await eventually('its lease', async () => (await leaderName()) === kept?.metadata.name);
          // Logged after ten seconds by the new replica that has a node. The other one has no node in another zone.
          const line = await eventually('the pending calls', async () => {
            const starting = (await operatorPods(cluster)).filter((pod) => !isAvailable(pod));
            const waiting = starting.find((pod) => containerOf(pod)?.state.running !== undefined);
            if (waiting === undefined) return undefined;
            const lines = await logOf(cluster, waiting.metadata.name);
            return lines.find(({ message }) => message === 'waiting for the start to complete');
          });
          expect(line['waiting-for']).toContainEqual(expect.stringContaining(SILENT_ENDPOINT));
        } finally {
          await helm('rollback karpenter --wait --timeout 120s');
        }
        await readyPods(2);
      },
      4 * MINUTES_MS,
    );
  });

  describe('a replica', () => {
    it(
      'ends within its grace period if it is stopped during its start',
      async () => {
        await createLonePod(cluster, 'starting', { env: { AWS_ENDPOINT_URL: SILENT_ENDPOINT } });
        const pod = await eventually('a pending call', async () => {
          const found = await findPod(cluster, 'starting');
          if (containerOf(found)?.state.running === undefined) return undefined;
          return (await logOf(cluster, 'starting')).length > 0 && found;
        });
        process.kill(processOf(pod), 'SIGTERM');
        const ended = await eventually(
          'its end',
          async () => containerOf(await findPod(cluster, 'starting'))?.state.terminated,
        );
        expect(ended).toMatchObject({ exitCode: 0, reason: 'Completed' });
      },
      2 * MINUTES_MS,
    );

    it(
      'ends with one line that has the remedy if it has no credentials',
      async () => {
        await createLonePod(cluster, 'anonymous', { withoutCredentials: true });
        const ended = await eventually(
          'its end',
          async () => containerOf(await findPod(cluster, 'anonymous'))?.state.terminated,
        );
        expect(ended).toMatchObject({ exitCode: 1 });
        const errors = (await logOf(cluster, 'anonymous')).filter(({ level }) => level === 'ERROR');
        expect(errors).toHaveLength(1);
        expect(errors[0]).toMatchObject({ error: expect.stringMatching(/credentials/i), remedy: expect.any(String) });
      },
      2 * MINUTES_MS,
    );

    it(
      'logs the remedy if 128 MiB of memory are too little',
      async () => {
        await createLonePod(cluster, 'small', { memory: '128Mi' });
        const line = await eventually('its remedy', async () => {
          const container = containerOf(await findPod(cluster, 'small'));
          // without its start, a container has no log
          const hasStarted = container?.state.running !== undefined || container?.state.terminated !== undefined;
          const lines = hasStarted ? await logOf(cluster, 'small') : [];
          return lines.find(({ remedy }) => String(remedy).includes('controller.resources.limits.memory'));
        });
        expect(line).toMatchObject({ level: 'ERROR', 'limit-mib': 128 });
      },
      2 * MINUTES_MS,
    );

    it(
      'takes over after a kill of the leader, and the container is restarted',
      async () => {
        const killed = await leader();
        const gaps = await gapsDuring(async () => process.kill(processOf(killed), 'SIGKILL'));
        // The lease lasts 15 seconds, and standbys try every 2 to 2.4 seconds. A busy machine takes longer.
        expect(gaps.at(-1)).toBeLessThan(30_000);
        await eventually(
          'a restart',
          async () => (containerOf(await findPod(cluster, killed.metadata.name))?.restartCount ?? 0) > 0,
        );
        await readyPods(2);
      },
      2 * MINUTES_MS,
    );

    it(
      'leaves a node that is drained',
      async () => {
        const drained = await leader();
        const node = drained.spec.nodeName ?? '';
        const gaps = await gapsDuring(() =>
          cluster.shell(`kubectl drain ${node} --ignore-daemonsets --delete-emptydir-data --force --timeout=60s`),
        );
        for (const gap of gaps) expect(gap).toBeLessThan(HAND_OVER_LIMIT_MS);
        await cluster.kubectl('uncordon', node);
        await readyPods(2);
      },
      3 * MINUTES_MS,
    );
  });

  describe('the removal', () => {
    it(
      'leaves only the objects that docs/uninstall.md lists',
      async () => {
        await cluster.kubectl('delete', '-f', 'examples/inflate.yaml');
        await follow('docs/uninstall.md', 'Remove the nodes');
        expect((await cluster.kube.list(NODE_CLAIM)).items).toEqual([]);
        const pods = await operatorPods(cluster);
        await follow('docs/uninstall.md', 'Remove the operator');
        await eventually('no pods', async () => {
          const found = await Promise.all(pods.map(({ metadata }) => findPod(cluster, metadata.name)));
          return found.every((pod) => pod === undefined);
        });
        expect(await cluster.kube.find(DEPLOYMENT, { name: 'karpenter', namespace: NAMESPACE })).toBeUndefined();
        expect(await objectsLeft()).toEqual((await documentedLeftovers()).toSorted());
        await follow('docs/uninstall.md', 'Remove the rest from the cluster');
        expect(await objectsLeft()).toEqual([]);
      },
      3 * MINUTES_MS,
    );

    /** Returns the objects in the namespace of the operator, and cluster-wide permissions, that name the operator. */
    const objectsLeft = async (): Promise<readonly string[]> => {
      const namespaced = await cluster.shell(
        `kubectl api-resources --verbs=list --namespaced -o name | grep -v '^events' | paste -sd, | xargs -I{} kubectl get {} --namespace ${NAMESPACE} --ignore-not-found -o name`,
      );
      const global = await cluster.shell('kubectl get clusterroles,clusterrolebindings,priorityclasses -o name');
      return `${namespaced}\n${global}`
        .split('\n')
        .filter((name) => name.includes('karpenter'))
        .toSorted();
    };

    /** Returns the names in the table of the page. Resource claims are disabled in this suite. */
    const documentedLeftovers = async (): Promise<readonly string[]> => {
      const page = readFileSync(join(ROOT, 'docs/uninstall.md'), 'utf8');
      return [...page.matchAll(/^\| `([a-z]+\/karpenter[a-z-]*)` /gm)]
        .map(([, name = '']) => name)
        .filter((name) => !name.endsWith('device-samples'));
    };
  });
});
