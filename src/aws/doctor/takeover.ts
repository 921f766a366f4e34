/**
 * Checks if a cluster that Karpenter manages can be taken over, or has been. Checks the running controllers, the
 * annotations of objects and the causes of drift. Reports no finding if the cluster has no NodeClaims and no Karpenter
 * controller.
 */

import { NODEPOOL_HASH_VERSION, nodePoolHash } from '#api/hashes';
import {
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2_NODECLASS_HASH_VERSION_ANNOTATION,
  type EC2NodeClass,
  isTrue,
  type KubeObject,
  LEASE,
  type Lease,
  NODE,
  NODE_CLAIM,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  type NodePool,
} from '#api/objects';
import { nodePoolErrors } from '#api/validation';
import type { Finding } from '#cloud';
import type { HttpKubeReader } from '#kube/connection';
import { own } from '#lib';
import type { Clock } from '#lib/clock';
import { leftovers } from './beta.ts';
import type { FoundController } from './cluster.ts';
import { fine, problem, warning } from './finding.ts';

const SUBJECT = 'takeover';
const LEASE_NAME = 'karpenter-leader-election';
const LEASE_SECONDS = 15;
/** Label of alpha versions. */
const PROVISIONER_LABEL = 'karpenter.sh/provisioner-name';

/** Minor versions of Karpenter 1.x with a tested takeover that leaves their objects unchanged. */
const KNOWN_MINORS = { first: 1, last: 14 };

interface TakeoverChecks {
  readonly controllers: readonly FoundController[];
  readonly pools: readonly NodePool[];
  readonly nodeClasses: readonly EC2NodeClass[];
  readonly clock: Clock;
}

export async function takeover(client: HttpKubeReader, checks: TakeoverChecks): Promise<readonly Finding[]> {
  const { controllers, pools, nodeClasses, clock } = checks;
  const [claims, nodes, leases] = await Promise.all([
    client.listAll(NODE_CLAIM),
    client.listAll(NODE),
    client.listAll(LEASE, { fieldSelector: `metadata.name=${LEASE_NAME}` }),
  ]);
  const theirs = controllers.filter(({ isKarpenter }) => isKarpenter);
  if (claims.length === 0 && theirs.length === 0) return [];
  const wrong = [
    ...theirs.flatMap(versionFindings),
    ...running(controllers),
    ...leaders(leases, clock.now()),
    ...leftovers([...pools, ...nodeClasses, ...claims]),
    ...hashFindings(pools, claims),
    ...findOperations(claims, nodes),
    ...oldNodes(nodes),
  ];
  const text = `${claims.length} NodeClaims of ${pools.length} NodePools can be taken over unchanged`;
  return wrong.some(({ level }) => level !== 'ok') ? wrong : [...wrong, fine(SUBJECT, text)];
}

const nameOf = ({ deployment: { metadata } }: FoundController): string => `${metadata.namespace}/${metadata.name}`;

function versionFindings(controller: FoundController): readonly Finding[] {
  const { version } = controller;
  const subject = `Karpenter ${nameOf(controller)}`;
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const at = Number(minor);
  if (major === undefined)
    return [warning(subject, `its version is unknown: "${version}"`, 'make sure that it is 1.1 or later')];
  if (major !== '1' || at < KNOWN_MINORS.first)
    return [
      problem(
        subject,
        `has version ${version}, whose objects may belong to beta or alpha APIs`,
        'upgrade Karpenter to 1.1 or later first with its upgrade guide, and convert the manifests',
      ),
    ];
  if (at > KNOWN_MINORS.last)
    return [
      warning(
        subject,
        `has version ${version}, but takeovers that keep nodes were tested only up to version 1.${KNOWN_MINORS.last}`,
        'try the takeover in a test cluster first',
      ),
    ];
  return [fine(subject, `has version ${version}, whose nodes can be taken over`)];
}

/** Two installations in two namespaces have separate Leases, so both launch and terminate nodes. */
function running(controllers: readonly FoundController[]): readonly Finding[] {
  const active = controllers.filter(({ deployment }) => (deployment.spec.replicas ?? 1) > 0);
  if (active.length < 2) return [];
  const names = active.map(nameOf);
  const fix = `stop all except one: kubectl scale deployment --replicas=0 -n NAMESPACE NAME`;
  const namespaces = new Set(active.map(({ deployment }) => deployment.metadata.namespace));
  return namespaces.size > 1
    ? [problem(SUBJECT, `two controllers are running with separate Leases: ${names.join(', ')}`, fix)]
    : [warning(SUBJECT, `two controllers are running, and one is on standby: ${names.join(', ')}`, fix)];
}

function leaders(leases: readonly Lease[], nowMs: number): readonly Finding[] {
  const held = leases.filter(({ spec }) => {
    const renewedMs = Date.parse(spec?.renewTime ?? '');
    const forMs = (spec?.leaseDurationSeconds ?? LEASE_SECONDS) * 1_000;
    return (spec?.holderIdentity ?? '') !== '' && nowMs - renewedMs < forMs;
  });
  const text = ({ metadata, spec }: Lease): string =>
    `${metadata.namespace}/${metadata.name} by ${spec?.holderIdentity}`;
  if (held.length > 1)
    return [
      problem(SUBJECT, `two controllers are leaders: ${held.map(text).join(', ')}`, 'scale one of them to 0 first'),
    ];
  const [lease] = held;
  return lease === undefined ? [] : [fine('Lease', `held: ${text(lease)}`)];
}

const annotation = ({ metadata }: KubeObject, key: string): string | undefined => own(metadata.annotations, key);

/** Lists the first names and the number of further objects. */
function listNames(objects: readonly KubeObject[], most = 3): string {
  const names = objects.slice(0, most).map(({ metadata }) => metadata.name);
  return `${names.join(', ')}${objects.length > most ? ` and ${objects.length - most} more` : ''}`;
}

/**
 * Drift detection compares hashes of both objects. It finds no drift if a hash is missing, and replaces nodes if the
 * hashes differ.
 */
function hashFindings(pools: readonly NodePool[], claims: readonly NodeClaim[]): readonly Finding[] {
  const findings: Finding[] = [];
  const unhashed = claims.filter((claim) =>
    [
      NODEPOOL_HASH_ANNOTATION,
      NODEPOOL_HASH_VERSION_ANNOTATION,
      EC2_NODECLASS_HASH_ANNOTATION,
      EC2_NODECLASS_HASH_VERSION_ANNOTATION,
    ].some((key) => annotation(claim, key) === undefined),
  );
  if (unhashed.length > 0)
    findings.push(
      warning(
        'NodeClaims',
        `${listNames(unhashed)} have no hash of their NodePool or EC2NodeClass, so changes of these are not detected as drift`,
        'wait until Karpenter has annotated them, or delete them one at a time',
      ),
    );
  for (const pool of pools) {
    const known = annotation(pool, NODEPOOL_HASH_ANNOTATION);
    const isCurrent = annotation(pool, NODEPOOL_HASH_VERSION_ANNOTATION) === NODEPOOL_HASH_VERSION;
    if (known === undefined || !isCurrent || nodePoolErrors(pool).length > 0 || known === nodePoolHash(pool)) continue;
    findings.push(
      warning(
        `NodePool ${pool.metadata.name}`,
        'its hash annotation does not match its spec, so its nodes will drift when a controller processes the change',
        'revert the change, or let Karpenter replace the nodes first',
      ),
    );
  }
  return findings;
}

/** A takeover during these operations is safe but difficult to observe. */
function findOperations(claims: readonly NodeClaim[], nodes: readonly Node[]): readonly Finding[] {
  const findings: Finding[] = [];
  const addWarning = (objects: readonly KubeObject[], kind: string, text: string): void => {
    if (objects.length > 0)
      findings.push(
        warning(kind, `${listNames(objects)} ${text}`, 'wait until this is finished, or expect it to continue'),
      );
  };
  addWarning(
    claims.filter((claim) => isTrue(claim, 'Drifted')),
    'NodeClaims',
    'are already drifted and are replaced by any controller',
  );
  addWarning(
    claims.filter(({ metadata }) => metadata.deletionTimestamp !== undefined),
    'NodeClaims',
    'are being deleted',
  );
  addWarning(
    claims.filter((claim) => claim.metadata.deletionTimestamp === undefined && !isTrue(claim, 'Initialized')),
    'NodeClaims',
    'are not initialized yet',
  );
  addWarning(
    nodes.filter((node) => hasTaint(node, 'karpenter.sh/disrupted') && node.metadata.deletionTimestamp === undefined),
    'Nodes',
    'are tainted for a disruption that has not started',
  );
  return findings;
}

const hasTaint = ({ spec }: Node, key: string): boolean => spec?.taints?.some((taint) => taint.key === key) ?? false;

/** Reports taints and labels of alpha and beta versions on nodes. */
function oldNodes(nodes: readonly Node[]): readonly Finding[] {
  const findings: Finding[] = [];
  const tainted = nodes.filter((node) => hasTaint(node, 'karpenter.sh/disruption'));
  if (tainted.length > 0)
    findings.push(
      warning(
        'Nodes',
        `${listNames(tainted)} have the taint karpenter.sh/disruption of beta versions, which no controller removes`,
        'kubectl taint nodes NAME karpenter.sh/disruption-',
      ),
    );
  const alpha = nodes.filter(
    ({ metadata: { labels } }) =>
      own(labels, PROVISIONER_LABEL) !== undefined && own(labels, NODEPOOL_LABEL) === undefined,
  );
  if (alpha.length > 0)
    findings.push(
      warning(
        'Nodes',
        `${listNames(alpha)} belong to Provisioners of alpha versions, so no controller removes them`,
        'drain and delete them once nodes of NodePools run their pods',
      ),
    );
  return findings;
}
