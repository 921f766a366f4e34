/**
 * Converts all objects of several files together, because NodePools and the EC2NodeClasses that they refer to belong
 * together.
 */
import { isMap, Pair, type YAMLMap } from 'yaml';
import { AWS_GROUP, KARPENTER_GROUP, NODEPOOL_LABEL } from '#api/objects';
import { InputError } from '../objects/errors.ts';
import { checkConverted, faultsOf } from './checked.ts';
import type { SourceFile } from './documents.ts';
import { ObjectEdit } from './edit.ts';
import { type ClassUser, freeName, isBeside, mergeKubelets } from './kubelet.ts';
import { noteKustomizations, patchesIn } from './kustomize.ts';
import { cleanMetadata, renameLabels } from './metadata.ts';
import {
  type ClassOptions,
  cleanConvertedClass,
  convertBetaNodeClass,
  convertMixedNodeClass,
  convertNodeTemplate,
} from './nodeclass.ts';
import {
  BETA_EXPIRY,
  convertBetaNodePool,
  convertBetaSpec,
  convertedKubelet,
  convertMixedNodePool,
  convertProvisioner,
  hasLeftovers,
  type PoolOptions,
  type PoolParts,
} from './nodepool.ts';
import {
  dropUnusedAnchors,
  emptyMap,
  entriesOf,
  expandAliases,
  isTemplate,
  keyOf,
  nodeOf,
  resolveAlias,
} from './nodes.ts';
import { Notes, type Path } from './notes.ts';
import { addAfter, type FoundObject, leaveOut, objectsIn, replace, retypeList } from './objects.ts';
import { noteOldNames, rememberFields } from './old-names.ts';
import { templateRemedy } from './placeholders.ts';
import { cleanClaimRequirements, TEMPLATE_SPEC } from './pool-template.ts';
import { convertRelease } from './releases.ts';
import { AWS_V1, RENAMED_LABELS, V1 } from './renames.ts';
import { convertWorkload } from './workloads.ts';

export interface ConvertOptions {
  /** Name of the nodes' IAM role, for classes with neither role nor instance profile. */
  readonly role?: string;
  /** If true, omits the requirements that the webhook of the alpha API added by default. */
  readonly ignoreDefaults?: boolean;
}

interface Conversion {
  readonly notes: Notes;
  /** One error for each object that remains unchanged. */
  readonly errors: readonly InputError[];
}

type Options = PoolOptions & ClassOptions;
type Convert = (edit: ObjectEdit, options: Options) => PoolParts | undefined;

interface OldKind {
  readonly kind: 'NodePool' | 'NodeClaim' | 'EC2NodeClass';
  /** Age of the API version. Newer objects take precedence over older objects of the same name. */
  readonly age: number;
  readonly convert: Convert;
  /** Converts the fields of older versions in a v1 object. Undefined for older versions. */
  readonly convertMixed?: Convert;
  /** Path of the reference to the class. */
  readonly reference?: Path;
}

const POOL_REFERENCE: Path = [...TEMPLATE_SPEC, 'nodeClassRef'];
const CLAIM_REFERENCE: Path = ['spec', 'nodeClassRef'];

const nothing =
  (convert: (edit: ObjectEdit, options: Options) => void): Convert =>
  (edit, options) => {
    convert(edit, options);
    return undefined;
  };

const OLD_KINDS: ReadonlyMap<string, OldKind> = new Map<string, OldKind>([
  [
    `${KARPENTER_GROUP}/v1alpha5 Provisioner`,
    { kind: 'NodePool', age: 2, convert: convertProvisioner, reference: POOL_REFERENCE },
  ],
  [
    `${KARPENTER_GROUP}/v1beta1 NodePool`,
    { kind: 'NodePool', age: 1, convert: convertBetaNodePool, reference: POOL_REFERENCE },
  ],
  [
    `${KARPENTER_GROUP}/v1beta1 NodeClaim`,
    { kind: 'NodeClaim', age: 1, convert: convertBetaNodeClaim, reference: CLAIM_REFERENCE },
  ],
  [`${AWS_GROUP}/v1alpha1 AWSNodeTemplate`, { kind: 'EC2NodeClass', age: 2, convert: nothing(convertNodeTemplate) }],
  [`${AWS_GROUP}/v1beta1 EC2NodeClass`, { kind: 'EC2NodeClass', age: 1, convert: nothing(convertBetaNodeClass) }],
]);

/** Kinds of v1. Only leftovers of conversion webhooks and fields of older versions change. */
const CURRENT_KINDS: ReadonlyMap<string, OldKind> = new Map<string, OldKind>([
  [
    `${KARPENTER_GROUP}/v1 NodePool`,
    {
      kind: 'NodePool',
      age: 0,
      convert: convertedKubelet,
      convertMixed: convertMixedNodePool,
      reference: POOL_REFERENCE,
    },
  ],
  [
    `${KARPENTER_GROUP}/v1 NodeClaim`,
    {
      kind: 'NodeClaim',
      age: 0,
      convert: convertedKubelet,
      convertMixed: (edit) => convertBetaNodeClaim(edit, { isPatch: true }),
      reference: CLAIM_REFERENCE,
    },
  ],
  [
    `${AWS_GROUP}/v1 EC2NodeClass`,
    {
      kind: 'EC2NodeClass',
      age: 0,
      convert: nothing(cleanConvertedClass),
      convertMixed: nothing(convertMixedNodeClass),
    },
  ],
]);

/** Groups of kinds that manifests often write with the other group of Karpenter. */
const GROUPS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['Provisioner', 'NodePool', 'NodeClaim', 'Machine'].map((kind) => [kind, KARPENTER_GROUP])),
  ...Object.fromEntries(['AWSNodeTemplate', 'EC2NodeClass'].map((kind) => [kind, AWS_GROUP])),
};

/** Only versions of kinds that v1 does not have. */
const ONLY_VERSIONS: Readonly<Record<string, string>> = {
  Provisioner: 'v1alpha5',
  Machine: 'v1alpha5',
  AWSNodeTemplate: 'v1alpha1',
};

/**
 * Returns the type with the group and a version that the kind has, because public examples confuse the two groups and combine
 * kinds with versions of others.
 */
const typeOf = ({ apiVersion, kind }: FoundObject): string => {
  const [group = '', version = ''] = apiVersion.split('/');
  const isKarpenter = group === KARPENTER_GROUP || group === AWS_GROUP;
  if (!isKarpenter || !Object.hasOwn(GROUPS, kind)) return `${apiVersion} ${kind}`;
  return `${GROUPS[kind]}/${ONLY_VERSIONS[kind] ?? (version === 'v1' ? 'v1' : 'v1beta1')} ${kind}`;
};
const oldKindOf = (found: FoundObject): OldKind | undefined =>
  OLD_KINDS.get(typeOf(found)) ?? CURRENT_KINDS.get(typeOf(found));

/** Converts the documents of the files in place. */
export function convertFiles(files: readonly SourceFile[], options: ConvertOptions): Conversion {
  return new Run(files, options).convert();
}

/**
 * Expands aliases in documents with objects of Karpenter, because a moved field could put an alias before its anchor.
 * Other documents keep anchors and aliases.
 */
function writeOutAliases(file: SourceFile): void {
  const old = objectsIn(file).filter((found) => oldKindOf(found) !== undefined);
  for (const { document } of new Set(old.map(({ source }) => source))) {
    document.contents = document.contents && expandAliases(document.contents, document);
    dropUnusedAnchors(document);
  }
}

class Run {
  readonly #notes = new Notes();
  readonly #errors: InputError[] = [];
  readonly #files: readonly SourceFile[];
  readonly #options: ConvertOptions;
  readonly #objects: readonly FoundObject[];
  /** Names of files that are Kustomize patches. */
  readonly #patches: ReadonlySet<string>;
  readonly #users: ClassUser[] = [];
  readonly #classes: FoundObject[] = [];

  constructor(files: readonly SourceFile[], options: ConvertOptions) {
    this.#files = files;
    this.#options = options;
    for (const file of files) writeOutAliases(file);
    this.#objects = files.flatMap(objectsIn);
    this.#patches = patchesIn(files);
  }

  convert(): Conversion {
    for (const found of this.#objects) {
      try {
        this.#convertOne(found);
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        this.#errors.push(error);
      }
    }
    mergeKubelets(this.#users, this.#classes, this.#notes);
    noteKustomizations(this.#files, this.#notes);
    for (const list of new Set(this.#objects.map((found) => found.list)))
      if (list !== undefined && list.kind !== 'List') retypeList(list);
    return { notes: this.#notes, errors: this.#errors };
  }

  #convertOne(found: FoundObject): void {
    const old = oldKindOf(found);
    if (old !== undefined) this.#convertKarpenter(found, old);
    else if (typeOf(found) === `${KARPENTER_GROUP}/v1alpha5 Machine`) this.#leaveOut(found, MACHINE_LEFT_OUT);
    else {
      noteSettings(found, this.#notes);
      const { note, fields } = rememberFields(this.#notes.on(found.where, found.map));
      if (convertRelease(found, note) || convertWorkload(found, note)) found.source.isChanged = true;
      noteOldNames(found, this.#notes.on(found.where), fields);
    }
  }

  #leaveOut(found: FoundObject, reason: string): void {
    this.#notes.on(found.where)('changed', [], reason);
    leaveOut(found, `${found.kind} ${found.name}: ${reason}`);
  }

  #convertKarpenter(found: FoundObject, old: OldKind): void {
    const isPatch = this.#patches.has(found.file.name);
    const newer = isPatch ? undefined : this.#newerThan(found, old);
    if (newer !== undefined) {
      this.#leaveOut(found, `the converted object already exists: ${newer.where}`);
      return;
    }
    if (isTemplate(found.source.document))
      throw new InputError(found.where, `is a template; ${templateRemedy(found.source.original)}`);
    const notes = new Notes();
    const copy = found.map.clone() as YAMLMap;
    const edit = new ObjectEdit(copy, found.where, notes.on(found.where, copy));
    const isCurrent = old.age === 0;
    let parts: PoolParts | undefined;
    const isConfused = typeOf(found) !== `${found.apiVersion} ${found.kind}`;
    if (isConfused) {
      const [right = ''] = typeOf(found).split(' ');
      edit.note('changed', ['apiVersion'], `${found.kind} is a kind of ${right}, not of ${found.apiVersion}`);
      edit.set(['apiVersion'], `${GROUPS[found.kind]}/v1`);
    }
    const isOld = !isCurrent || hasLeftovers(edit);
    if (isOld) parts = old.convert(edit, { ...this.#options, isPatch });
    const mixed = this.#convertMixed(edit, old, isPatch);
    if (mixed !== undefined) parts = { ...parts, ...mixed };
    if (isOld || isConfused || mixed !== undefined) {
      if (!isCurrent || mixed !== undefined) checkConverted(edit, { isPatch });
      const provider = parts?.provider && this.#classOf(found, parts.provider, notes);
      replace(found, copy);
      if (provider) this.#addClass(found, edit, provider);
      this.#notes.add(notes);
    }
    if (old.kind === 'EC2NodeClass') this.#classes.push(found);
    else if (old.reference && (!isPatch || parts?.kubelet))
      this.#users.push({ found, kubelet: parts?.kubelet, reference: old.reference });
  }

  /** Converts fields of older versions in a v1 object. Returns undefined if v1 accepts the object. */
  #convertMixed(edit: ObjectEdit, { convertMixed }: OldKind, isPatch: boolean): PoolParts | undefined {
    if (convertMixed === undefined) return undefined;
    const { isFaulty, fields } = faultsOf(edit, { isPatch });
    if (!isFaulty) return undefined;
    if (fields.length > 0) edit.note('changed', [], `v1 ignores or rejects ${fields.join(', ')}`);
    return convertMixed(edit, { ...this.#options, isPatch }) ?? {};
  }

  /** Returns an object of the same folder that already has the name and kind of the conversion's result. */
  #newerThan(found: FoundObject, old: OldKind): FoundObject | undefined {
    return this.#objects.find((other) => {
      const its = oldKindOf(other);
      if (its?.kind !== old.kind || its.age >= old.age || other.name !== found.name) return false;
      return isBeside(other.file.name, found.file.name) && !this.#patches.has(other.file.name);
    });
  }

  /** Creates a class from settings that are embedded in a Provisioner. */
  #classOf(found: FoundObject, { value }: Pair, notes: Notes): ObjectEdit {
    const map = emptyMap();
    const name = freeName(
      found.name,
      this.#objects.filter(({ kind }) => /^(AWSNodeTemplate|EC2NodeClass)$/.test(kind)),
    );
    const fields = { apiVersion: AWS_V1, kind: 'EC2NodeClass', metadata: { name } };
    for (const [key, field] of Object.entries(fields)) map.items.push(new Pair(nodeOf(key), nodeOf(field)));
    map.items.push(new Pair(nodeOf('spec'), isMap(value) ? value : nodeOf({})));
    const where = `${found.where}, spec.provider`;
    const edit = new ObjectEdit(map, where, notes.on(where, map));
    convertNodeTemplate(edit, { ...this.#options, isPatch: false });
    checkConverted(edit, { isPatch: false });
    return edit;
  }

  #addClass(found: FoundObject, pool: ObjectEdit, { root }: ObjectEdit): void {
    const name = String(root.getIn(['metadata', 'name']));
    pool.replaceValue([...POOL_REFERENCE, 'name'], name);
    this.#classes.push(addAfter(found, root, name));
  }
}

/** Note for Machines, which are omitted from the output. */
const MACHINE_LEFT_OUT =
  'Machines are not converted; they are deleted with their nodes, and NodePools create NodeClaims for new nodes';

const CREATED = 'NodeClaims are created by Karpenter; apply only NodeClaims that you created yourself';

/** @throws InputError with the field that cannot be converted */
function convertBetaNodeClaim(edit: ObjectEdit, { isPatch }: PoolOptions): PoolParts {
  edit.set(['apiVersion'], V1);
  cleanMetadata(edit, { keepHashes: true });
  renameLabels(edit, ['metadata', 'labels']);
  if (!isPatch && !edit.has(['spec'])) edit.fail(['spec'], 'is required');
  edit.dropNulls(['spec']);
  const parts = convertBetaSpec(edit, ['spec'], isPatch);
  cleanClaimRequirements(edit, ['spec', 'requirements']);
  for (const index of edit.indexes(['spec', 'requirements'])) {
    const path = ['spec', 'requirements', index, 'key'];
    const name = RENAMED_LABELS.get(edit.text(path) ?? '');
    if (name !== undefined) edit.replaceValue(path, name);
  }
  if (isPatch || edit.has(['spec', 'expireAfter'])) return parts;
  const pool = edit.text(['metadata', 'labels', NODEPOOL_LABEL]);
  edit.set(['spec', 'expireAfter'], pool === undefined ? 'Never' : BETA_EXPIRY);
  const text =
    pool === undefined
      ? 'v1beta1 did not expire NodeClaims without a NodePool'
      : `in v1beta1, only NodePool ${pool} had this field, with default ${BETA_EXPIRY}; use its value`;
  edit.note('assumed', ['spec', 'expireAfter'], text);
  edit.note('assumed', [], CREATED);
  return parts;
}

/** Explains the current counterpart of each key in the settings ConfigMap of releases before 0.33. */
const SETTINGS = 'karpenter-global-settings';

const GONE = 'is removed';

/** Names a chart value and the environment variable that it sets. */
const setting = (value: string, variable: string): string => `is now the chart value ${value} (${variable})`;

const KEYS: ReadonlyMap<string, string> = new Map([
  ['batchMaxDuration', setting('settings.batchMaxDuration', 'BATCH_MAX_DURATION')],
  ['batchIdleDuration', setting('settings.batchIdleDuration', 'BATCH_IDLE_DURATION')],
  ['aws.clusterName', setting('settings.clusterName', 'CLUSTER_NAME')],
  ['aws.clusterEndpoint', setting('settings.clusterEndpoint', 'CLUSTER_ENDPOINT')],
  ['aws.clusterCABundle', setting('settings.clusterCABundle', 'CLUSTER_CA_BUNDLE')],
  ['aws.isolatedVPC', setting('settings.isolatedVPC', 'ISOLATED_VPC')],
  ['aws.vmMemoryOverheadPercent', setting('settings.vmMemoryOverheadPercent', 'VM_MEMORY_OVERHEAD_PERCENT')],
  ['aws.reservedENIs', setting('settings.reservedENIs', 'RESERVED_ENIS')],
  ['aws.interruptionQueueName', setting('settings.interruptionQueue', 'INTERRUPTION_QUEUE')],
  ['aws.assumeRoleARN', `${GONE}; grant the permissions to the role of the controller`],
  ['aws.assumeRoleDuration', `${GONE}, like aws.assumeRoleARN`],
  ['aws.defaultInstanceProfile', `${GONE}; set role or instanceProfile in each EC2NodeClass`],
  ['aws.enablePodENI', `${GONE}; instance types with branch interfaces offer vpc.amazonaws.com/pod-eni`],
  ['aws.enableENILimitedPodDensity', `${GONE}; set spec.kubelet.maxPods of the EC2NodeClass`],
  ['aws.tags', `${GONE}; set spec.tags of each EC2NodeClass`],
  ['aws.nodeNameConvention', GONE],
  ['featureGates.driftEnabled', `${GONE}; drift is always enabled, and a budget for reason Drifted can limit it`],
]);

/** Adds notes for the settings. The ConfigMap itself remains unchanged, because a chart created it. */
function noteSettings({ kind, name, map, where, source }: FoundObject, notes: Notes): void {
  if (kind !== 'ConfigMap' || name !== SETTINGS) return;
  const note = notes.on(where);
  note('lost', [], 'is not used any more; settings are chart values');
  const data = resolveAlias(map.get('data', true), source.document);
  if (!isMap(data)) return;
  for (const pair of entriesOf(data, source.document)) {
    const key = String(keyOf(pair));
    note('changed', ['data', key], KEYS.get(key) ?? 'is unknown');
  }
}
