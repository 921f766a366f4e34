/** EC2NodeClasses of manifests, evaluated without an AWS account. */

import { ec2NodeClassHash } from '#api/hashes';
import {
  type Conditioned,
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2NODECLASS_CONDITIONS,
  type EC2NodeClass,
  getCondition,
  NODEPOOL_CONDITIONS,
  type NodePool,
  setCondition,
} from '#api/objects';
import { NODE_CLASS_READY, withNodeClassReadiness } from '#api/validation';
import { tryRun } from '#lib';
import { isFromCluster, type Manifest } from './read.ts';

/** Fields that only AWS can evaluate, and the things that they select. */
const SELECTORS = {
  amiFamily: 'images',
  amiSelectorTerms: 'images',
  subnetSelectorTerms: 'subnets',
  securityGroupSelectorTerms: 'security groups',
  capacityReservationSelectorTerms: 'capacity reservations',
  placementGroupSelector: 'placement group',
  role: 'instance profile',
  instanceProfile: 'instance profile',
} as const;

export class NodeClasses {
  readonly #byName: ReadonlyMap<string, Manifest>;
  readonly #isWhole: boolean;
  /** Assumptions that are reported to the user. */
  readonly assumptions: readonly string[];

  constructor(manifests: readonly Manifest[]) {
    const own = manifests.filter(({ object }) => object.kind === 'EC2NodeClass');
    this.#byName = new Map(own.map((manifest) => [manifest.object.metadata.name, manifest]));
    this.#isWhole = own.some(isFromCluster);
    const isDump = manifests.some(isFromCluster);
    this.assumptions = [...own.flatMap(changedSelectors), ...(isDump ? own.flatMap(takenAsReady) : [])];
  }

  /** Returns the NodeClass with the hash for the comparison with its nodes, or undefined if it is missing. */
  get(name: string): EC2NodeClass | undefined {
    const manifest = this.#byName.get(name);
    return manifest && markChangedHash(manifest);
  }

  /** Returns true if the cluster certainly does not contain the NodePool's NodeClass. */
  isMissing({ spec }: NodePool): boolean {
    return this.#isWhole && !this.#byName.has(spec.template.spec.nodeClassRef.name);
  }

  /** Sets the condition NodeClassReady as the operator would. Without the NodeClass, assumes that it is ready. */
  withReadiness(pool: NodePool, nowMs: number): NodePool {
    const nodeClass = this.judged(pool.spec.template.spec.nodeClassRef.name);
    if (nodeClass !== undefined || this.isMissing(pool)) return withNodeClassReadiness(pool, nodeClass, nowMs);
    if (getCondition(pool, NODE_CLASS_READY) !== undefined) return pool;
    return setCondition(pool, NODEPOOL_CONDITIONS, { type: NODE_CLASS_READY, status: 'True' }, nowMs);
  }

  /**
   * Returns the NodeClass with its conditions. If the operator has not processed it yet, assumes that AWS has all
   * selected resources.
   */
  judged(name: string): Conditioned | undefined {
    const manifest = this.#byName.get(name);
    if (manifest === undefined || isFromCluster(manifest) || isJudged(manifest)) return manifest?.object;
    return EC2NODECLASS_CONDITIONS.dependents.reduce<Conditioned>(
      (object, type) => setCondition(object, EC2NODECLASS_CONDITIONS, { type, status: 'True' }, 0),
      manifest.object,
    );
  }

  /** Returns true if the operator cannot list instance types for the NodePool. */
  isUnusable(pool: NodePool): boolean {
    const manifest = this.#byName.get(pool.spec.template.spec.nodeClassRef.name);
    if (manifest === undefined) return this.isMissing(pool);
    const { metadata, status } = manifest.object as EC2NodeClass;
    if (metadata.deletionTimestamp !== undefined) return true;
    return (isFromCluster(manifest) || isJudged(manifest)) && (status?.subnets ?? []).length === 0;
  }
}

const isJudged = ({ object }: Manifest): boolean => ((object as Conditioned).status?.conditions ?? []).length > 0;

/**
 * Marks the hash as changed if a change of the NodeClass changes its hash. The hash itself cannot be computed,
 * because it depends on the cluster's CA bundle.
 */
function markChangedHash({ object, replaced }: Manifest): EC2NodeClass {
  const nodeClass = object as EC2NodeClass;
  const known = nodeClass.metadata.annotations?.[EC2_NODECLASS_HASH_ANNOTATION];
  if (replaced === undefined || known === undefined || !hasChanged(nodeClass, replaced as EC2NodeClass))
    return nodeClass;
  const annotations = { ...nodeClass.metadata.annotations, [EC2_NODECLASS_HASH_ANNOTATION]: `${known}-changed` };
  return { ...nodeClass, metadata: { ...nodeClass.metadata, annotations } };
}

/** Returns false if a value cannot be parsed, because the operator also keeps the hash. */
const hasChanged = (nodeClass: EC2NodeClass, before: EC2NodeClass): boolean =>
  tryRun(() => ec2NodeClassHash(nodeClass) !== ec2NodeClassHash(before)) ?? false;

function changedSelectors({ object, replaced }: Manifest): readonly string[] {
  if (replaced === undefined) return [];
  const [spec, before] = [(object as EC2NodeClass).spec, (replaced as EC2NodeClass).spec];
  const isChanged = (field: keyof typeof SELECTORS): boolean =>
    JSON.stringify(spec?.[field]) !== JSON.stringify(before?.[field]);
  const fields = (Object.keys(SELECTORS) as (keyof typeof SELECTORS)[]).filter(isChanged);
  return fields.map(
    (field) =>
      `EC2NodeClass ${object.metadata.name}: the changed spec.${field} can be resolved only by AWS; the ` +
      `${SELECTORS[field]} of its status are used, and nodes with other ones would drift`,
  );
}

const takenAsReady = (manifest: Manifest): readonly string[] =>
  isFromCluster(manifest) || isJudged(manifest)
    ? []
    : [
        `EC2NodeClass ${manifest.object.metadata.name}: it has no status; it is assumed to be Ready, with subnets in every zone`,
      ];
