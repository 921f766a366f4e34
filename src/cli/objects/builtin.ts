/**
 * Computes instance types without an AWS account. Uses the catalogue and the prices of the local world, and applies
 * NodeClasses in the same way as the EC2 provider.
 */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { ARCH_LABEL, type EC2NodeClass, type NodePool } from '#api/objects';
import { DEFAULT_CPU_UTILIZATION } from '#api/values';
import {
  baseOfferings,
  canLaunch,
  cpuCreditsOf,
  type Zone as OfferedZone,
  typeRequirements,
  typeTerms,
} from '#aws/instance-types';
import { type AmiFamily, familyOf, isWindows, type Kubelet, parseKubelet, podTerms } from '#aws/node-classes';
import { amountsOf, type InstanceType, requirementsOf, type TypeTerms } from '#engine/model';
import { defined } from '#lib';
import type { Catalogue } from '#local/aws';
import { ruleBuiltCatalogue } from '#local/machines';
import { InputError, messageOf } from './errors.ts';
import { imageArchitectures } from './images.ts';
import { DEFAULT_REGION, placesOf, type Zone, zonesOfClass } from './places.ts';
import type { Manifest } from './read.ts';
import { validateStored } from './stored.ts';

/** Seed of the local world's prices. */
const PRICE_SEED = 1;
/** Default of `--vm-memory-overhead-percent`. */
const MEMORY_OVERHEAD = 0.075;
/** Default of `--reserved-enis`. */
const RESERVED_ENIS = 0;

const DEFAULT_SPEC: EC2NodeClass['spec'] = {
  role: 'default',
  amiSelectorTerms: [{ alias: 'al2023@latest' }],
  subnetSelectorTerms: [{ tags: { '*': '*' } }],
  securityGroupSelectorTerms: [{ tags: { '*': '*' } }],
};

/**
 * Returns the instance types of a NodePool according to its NodeClass, in the zones of its subnets or of the
 * manifests. If the manifests do not contain the NodeClass, a default AL2023 NodeClass is used.
 */
export function builtInTypes(
  manifests: readonly Manifest[],
  nowMs: number,
): (nodePool: NodePool) => readonly InstanceType[] {
  const world = worldIn(manifests, nowMs);
  const known = new Map<string, readonly InstanceType[]>();

  return (nodePool) => {
    const { name } = nodePool.spec.template.spec.nodeClassRef;
    const types = known.get(name) ?? typesOf(world, viewFor(world, name));
    known.set(name, types);
    return types;
  };
}

/** Returns a function that returns the computation of a type of {@link builtInTypes}. */
export function builtInTerms(
  manifests: readonly Manifest[],
  nowMs: number,
): (nodePool: NodePool, instanceType: string) => TypeTerms | undefined {
  const world = worldIn(manifests, nowMs);
  return (nodePool, instanceType) => {
    const info = world.catalogue.types.find(({ InstanceType: name }) => name === instanceType);
    return info && termsOf(info, viewFor(world, nodePool.spec.template.spec.nodeClassRef.name));
  };
}

interface World {
  readonly classes: readonly Manifest[];
  readonly region: string;
  readonly allZones: readonly Zone[];
  readonly catalogue: Catalogue;
  readonly nowMs: number;
}

function worldIn(manifests: readonly Manifest[], nowMs: number): World {
  const { region, zones } = placesOf(manifests);
  const classes = manifests.filter(({ object }) => object.kind === 'EC2NodeClass');
  return { classes, region, allZones: zones, catalogue: ruleBuiltCatalogue(zones, PRICE_SEED), nowMs };
}

function viewFor(world: World, nodeClass: string): View {
  const manifest = world.classes.find(({ object }) => object.metadata.name === nodeClass);
  return manifest === undefined ? plainView(world) : viewOf(world, manifest);
}

/** Fields of a NodeClass that determine its instance types. */
interface View {
  readonly nodeClass: EC2NodeClass;
  readonly kubelet: Kubelet;
  readonly family: AmiFamily;
  readonly zones: readonly OfferedZone[];
  /** Architectures of its images. Undefined if instance types of both can be launched. */
  readonly architectures: ReadonlySet<string> | undefined;
}

const plainView = ({ allZones }: World): View => ({
  ...viewIn(allZones, DEFAULT_SPEC, 'built-in NodeClass'),
  architectures: undefined,
});

function viewOf({ allZones }: World, manifest: Manifest): View {
  const { spec } = validateStored<EC2NodeClass>(manifest);
  const own = distinctZones(manifest.object as EC2NodeClass);
  const architectures = imageArchitectures(manifest.object as EC2NodeClass);
  return {
    ...viewIn(own.length > 0 ? own : allZones, spec, manifest.where),
    architectures: architectures === 'unknown' ? undefined : architectures,
  };
}

function viewIn(zones: readonly Zone[], spec: EC2NodeClass['spec'], where: string): Omit<View, 'architectures'> {
  const subnets = zones.map((zone) => ({ id: `subnet-${zone.id}`, zone: zone.name, zoneID: zone.id }));
  const nodeClass: EC2NodeClass = {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec,
    status: { subnets },
  };
  return {
    nodeClass,
    kubelet: kubeletOf(spec, where),
    family: familyOf(nodeClass),
    zones: subnets.map(({ id, zone, zoneID }) => ({ name: zone, id: zoneID, subnetIds: [id] })),
  };
}

function typesOf(world: World, view: View): readonly InstanceType[] {
  const types = world.catalogue.types.map((info) => typeOf(info, world, view));
  const { architectures } = view;
  if (architectures === undefined) return types;
  return types.filter((type) => !requirementsOf(type).get(ARCH_LABEL).values.isDisjointFrom(architectures));
}

const termsOf = (info: InstanceTypeInfo, { nodeClass, kubelet, family }: View): TypeTerms =>
  typeTerms(info, nodeClass, {
    family,
    kubelet,
    reservedEnis: RESERVED_ENIS,
    memoryOverheadPercent: MEMORY_OVERHEAD,
    pods: podTerms(info, nodeClass, kubelet, { family, reservedEnis: RESERVED_ENIS }),
  });

function typeOf(info: InstanceTypeInfo, { region, allZones, catalogue, nowMs }: World, view: View): InstanceType {
  const { nodeClass, family, zones } = view;
  const name = info.InstanceType ?? '';
  const offeredIn = new Set(catalogue.zonesOf(name));
  return {
    name,
    requirements: typeRequirements(info, { region, family, zones, offeredIn, reservations: [] }),
    ...amountsOf(termsOf(info, view)),
    ...defined({ cpuBurst: cpuCreditsOf(info, isWindows(family), DEFAULT_CPU_UTILIZATION) }),
    offerings: baseOfferings(info, {
      allZones: allZones.map((zone) => zone.name),
      zones,
      offeredIn,
      launchable: canLaunch(info, nodeClass, family, undefined),
      placementGroup: undefined,
      onDemandPrice: catalogue.onDemandUsd,
      spotPrice: (type, zone) => catalogue.spotUsd(type, zone, nowMs),
      shortage: () => undefined,
    }),
  };
}

/** Returns each zone once, because a NodeClass may have several subnets in a zone. */
const distinctZones = (nodeClass: EC2NodeClass): readonly Zone[] => [
  ...new Map(zonesOfClass(nodeClass).map((zone) => [zone.name, zone])).values(),
];

/** Returns a note if the prices of {@link builtInTypes} are not valid in the region of the cluster. */
export function pricesNote(manifests: readonly Manifest[]): readonly string[] {
  const { region } = placesOf(manifests);
  if (region === DEFAULT_REGION) return [];
  return [
    `prices are from ${DEFAULT_REGION} in the built-in catalogue, and spot prices are estimates; ` +
      `for prices of ${region}, query the operator with --instance-types http://127.0.0.1:8080`,
  ];
}

/** Returns notes on NodePools for which {@link builtInTypes} uses a default NodeClass. */
export function inventedClasses(manifests: readonly Manifest[]): readonly string[] {
  const named = (kind: string): readonly Manifest[] => manifests.filter(({ object }) => object.kind === kind);
  const known = new Set(named('EC2NodeClass').map(({ object }) => object.metadata.name));
  return named('NodePool').flatMap(({ object, where }) => {
    const pool = object as Partial<NodePool>;
    const name = pool.spec?.template?.spec?.nodeClassRef?.name;
    // a default would hide that the cluster lacks this EC2NodeClass
    const isUnused =
      pool.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'False') ?? false;
    return name === undefined || known.has(name) || isUnused
      ? []
      : [`${where}: EC2NodeClass ${name} is not in the manifests; a default AL2023 EC2NodeClass is used instead`];
  });
}

function kubeletOf(spec: EC2NodeClass['spec'], where: string): Kubelet {
  try {
    return parseKubelet(spec.kubelet);
  } catch (error) {
    throw new InputError(where, `spec.kubelet: ${messageOf(error)}`, { cause: error });
  }
}
