/** Replays a recorded case through the provider and normalizes the requests of both sides. */
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { EC2_NODE_CLASS, NAMESPACE, NODE_CLAIM, NODE_POOL, type NodeClaim, SERVICE } from '#api/objects';
import type { Controller } from '#kube/reconcilers';
import { realClock } from '#lib/clock';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { assemble } from '../../../../src/aws/assembly.ts';
import { fingerprint } from '../../../../src/aws/fingerprint.ts';
import { CLUSTER_UID_TAG } from '../../../../src/aws/tags.ts';
import { parseMime } from '../../../../src/aws/userdata/mime.ts';
import { MemoryKube } from '../../../support/memory-kube.ts';
import type { Json } from './json.ts';
import { type Sent, World } from './world.ts';

const CLUSTER_UID = '6f0d3c1e-2b7a-4b53-9f7d-6f5f0c0d1a11';

export interface Replay {
  /** Requests while the NodeClass became ready, and while the NodeClaims were launched. */
  readonly discovery: readonly Sent[];
  readonly launch: readonly Sent[];
  readonly nodeClass: Json;
  readonly claims: readonly NodeClaim[];
}

function reconcilerOf(controllers: readonly Controller[], name: string) {
  const found = controllers.find((controller) => controller.name === name);
  if (found === undefined || !('watches' in found)) throw new Error(`no reconciler ${name}`);
  return found;
}

export async function replay(world: Json, recorded: Json): Promise<Replay> {
  const set: Json = world.operatorSettings[recorded.operatorSettings];
  const second = recorded.operatorSettings === 'set2';
  const dns = 'kubeDnsClusterIP' in set ? set.kubeDnsClusterIP : world.cluster.kubeDnsClusterIP;
  const aws = new World(world, {
    describeCluster: set.describeCluster ?? world.cluster.describeCluster,
    ec2Answer: recorded.ec2Answer,
  });
  const kube = new MemoryKube(realClock(), 0);
  kube.put(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid: CLUSTER_UID } });
  if (dns !== null) {
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'kube-system', name: 'kube-dns' },
      spec: { clusterIP: dns },
    };
    kube.put(SERVICE, service);
  }
  const { nodeClass, nodePools } = recorded.manifests;
  const { provider, controllers } = await assemble(
    {
      settings: {
        clusterName: world.cluster.name,
        clusterEndpoint: world.cluster.endpoint,
        clusterCaBundle: world.cluster.caBundleBase64,
        isolatedVpc: false,
        eksControlPlane: false,
        vmMemoryOverheadPercent: second ? 0.1 : 0.075,
        scheduledEvents: 'drift',
        interruptionQueue: '',
        mode: 'act',
        spotRisk: 1,
        expectedCpuUtilization: 0,
        packing: 'cheapest',
        reservedEnis: second ? 1 : 0,
        disableDryRun: false,
        amiRefreshIntervalMs: 60_000,
        subnetRefreshIntervalMs: 60_000,
        minValuesPolicy: 'Strict',
        enableZonalShift: false,
        priceBook: '',
        featureGates: { reservedCapacity: !second, nodeOverlay: false },
        awsFeatureGates: { nodeClassCel: false },
      },
      client: kube.client(),
      informers: kube.informers(),
      events: { publish: () => undefined },
      clock: realClock(),
      log: silent,
      metrics: createMetrics(),
      kubernetesVersion: async () => world.kubernetesVersion,
    },
    aws.clients(),
  );
  const context = { signal: new AbortController().signal, log: silent };
  const pricing = controllers().find((each) => each.name === 'providers.pricing');
  if (pricing !== undefined && 'singleton' in pricing) await pricing.reconcile(context);

  for (const pool of nodePools) kube.put(NODE_POOL, pool);
  const spec = { metadataOptions: METADATA_DEFAULTS, ...nodeClass.spec };
  spec.metadataOptions = { ...METADATA_DEFAULTS, ...spec.metadataOptions };
  kube.put(EC2_NODE_CLASS, { ...nodeClass, metadata: { ...nodeClass.metadata, uid: 'NODECLASS-UID' }, spec });
  aws.sent.length = 0;
  const reconciler = reconcilerOf(controllers(), 'nodeclass');
  const stored = kube.find(EC2_NODE_CLASS, nodeClass.metadata);
  if (stored === undefined) throw new Error('the NodeClass was not stored');
  await reconciler.reconcile(stored, context);
  const discovery = aws.sent.splice(0);

  const claims: NodeClaim[] = [];
  for (const [at, { metadata, spec: claimSpec }] of recorded.nodeClaims.entries()) {
    const poolName = metadata.labels['karpenter.sh/nodepool'];
    const pool = nodePools.find((each: Json) => each.metadata.name === poolName);
    const claim = kube.put(NODE_CLAIM, {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: {
        name: `${poolName}-${at}`,
        labels: {
          ...pool.spec.template.metadata?.labels,
          'karpenter.sh/nodepool': poolName,
          'karpenter.k8s.aws/ec2nodeclass': nodeClass.metadata.name,
        },
      },
      spec: claimSpec,
    });
    claims.push(await provider.create(claim));
  }
  return {
    discovery,
    launch: [...aws.sent],
    nodeClass: kube.find(EC2_NODE_CLASS, nodeClass.metadata) ?? {},
    claims,
  };
}

/** Defaults of the CRD. */
const METADATA_DEFAULTS = {
  httpEndpoint: 'enabled',
  httpProtocolIPv6: 'disabled',
  httpPutResponseHopLimit: 1,
  httpTokens: 'required',
};

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Sorts comma-separated lists in kubelet flags. */
const orderedFlags = (text: string): string =>
  text.replace(/="([^"]*)"/g, (_, list: string) => `="${list.split(',').sort().join(',')}"`);

function document(type: string, content: string): unknown {
  if (!type.startsWith('application/node.eks.aws')) return orderedFlags(content.trim());
  const parsed: unknown = parseYaml(content);
  return isMap(parsed)
    ? JSON.parse(orderedFlags(JSON.stringify(parsed).replaceAll('\\"', '"x"')).replaceAll('"x"', '\\"'))
    : parsed;
}

/** Parses user data into comparable values. */
function userData(text: string): unknown {
  if (text.startsWith('MIME-Version'))
    return parseMime(text).map(({ headers, content }) => ({
      headers,
      content: document(headers['Content-Type'] ?? '', content),
    }));
  if (text.startsWith('[settings')) return parseToml(text);
  return orderedFlags(text);
}

/** Declared difference: the reference does not add the identity of the cluster to its tags. */
const isIdentity = (value: unknown): boolean => isMap(value) && value.Key === CLUSTER_UID_TAG;

const PROFILE = /live_(\d+|INSTANCE-PROFILE)/g;
const TEMPLATE = /karpenter\.k8s\.aws\/(\d{5,}|LAUNCH-TEMPLATE-\d+|VALIDATION-TEMPLATE-\d+)/;

/** Sorts lists without a significant order, replaces generated names, and drops absent members. */
export function normal(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return value.replace(PROFILE, 'PROFILE');
  if (Array.isArray(value)) {
    const items = value.filter((item) => !isIdentity(item)).map((item) => normal(item, key));
    const ordered = ['NetworkInterfaces', 'BlockDeviceMappings', 'taints', 'startupTaints', 'parts', 'UserData'];
    return ordered.includes(key) ? items : items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  if (!isMap(value)) return value;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, name === 'UserData' ? member : normal(member, name)]);
  return Object.fromEntries(members);
}

/** Returns the content of a template with a name that is derived from it. */
function template(input: Json, text: string): { readonly name: string; readonly content: unknown } {
  const { LaunchTemplateName: _, ClientToken: __, ...rest } = input;
  const data = { ...rest.LaunchTemplateData, UserData: userData(text) };
  const content = normal({ ...rest, LaunchTemplateData: data });
  return { name: fingerprint(content), content };
}

export interface Templates {
  readonly contents: readonly unknown[];
  /** Replaces the names in later requests with content-based names. */
  readonly rename: (value: unknown) => unknown;
}

export function templates(inputs: readonly Json[], textOf: (input: Json) => string): Templates {
  const names = new Map<string, string>();
  const contents = new Map<string, unknown>();
  for (const input of inputs) {
    const { name, content } = template(input, textOf(input));
    names.set(input.LaunchTemplateName, name);
    contents.set(name, content);
  }
  const rename = (value: unknown): unknown => {
    if (typeof value === 'string' && TEMPLATE.test(value)) return names.get(value) ?? value;
    if (Array.isArray(value)) return value.map(rename);
    if (isMap(value)) return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rename(member)]));
    return value;
  };
  return { contents: [...contents].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, content]) => content), rename };
}

export const decoded = (input: Json): string => Buffer.from(input.LaunchTemplateData.UserData, 'base64').toString();
export const recordedText = (input: Json): string => input.LaunchTemplateData.UserData.text;

/** Drops the client token, which differs from run to run. */
export function fleets(inputs: readonly Json[], { rename }: Templates): unknown {
  return normal(rename(inputs.map(({ ClientToken: _, ...rest }) => rest)));
}
