/**
 * Converts all objects of several files together, because NodePools and the EC2NodeClasses that they refer to belong
 * together.
 */
import { isMap, Pair, type YAMLMap } from 'yaml';
import { AWS_GROUP, KARPENTER_GROUP } from '../../api/labels.ts';
import { InputError } from '../objects/errors.ts';
import { checkConverted } from './checked.ts';
import type { SourceFile } from './documents.ts';
import { ObjectEdit } from './edit.ts';
import { type ClassUser, freeName, mergeKubelets } from './kubelet.ts';
import { noteKustomizations, patchesIn } from './kustomize.ts';
import { convertBetaNodeClaim, MACHINE_LEFT_OUT } from './nodeclaim.ts';
import { type ClassOptions, cleanConvertedClass, convertBetaNodeClass, convertNodeTemplate } from './nodeclass.ts';
import { convertBetaNodePool, convertedKubelet, hasLeftovers } from './nodepool.ts';
import { dropUnusedAnchors, emptyMap, expandAliases, isTemplate, nodeOf } from './nodes.ts';
import { Notes, type Path } from './notes.ts';
import { addAfter, type FoundObject, leaveOut, objectsIn, replace, retypeList } from './objects.ts';
import { templateRemedy } from './placeholders.ts';
import { TEMPLATE_SPEC } from './pool-template.ts';
import { convertProvisioner, type PoolOptions, type PoolParts } from './provisioner.ts';
import { convertRelease } from './releases.ts';
import { AWS_V1 } from './renames.ts';
import { noteSettings } from './settings.ts';
import { isBeside } from './trees.ts';
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

/** Kinds of v1. Only leftovers of conversion webhooks change. */
const CURRENT_KINDS: ReadonlyMap<string, OldKind> = new Map<string, OldKind>([
  [
    `${KARPENTER_GROUP}/v1 NodePool`,
    { kind: 'NodePool', age: 0, convert: convertedKubelet, reference: POOL_REFERENCE },
  ],
  [
    `${KARPENTER_GROUP}/v1 NodeClaim`,
    { kind: 'NodeClaim', age: 0, convert: convertedKubelet, reference: CLAIM_REFERENCE },
  ],
  [`${AWS_GROUP}/v1 EC2NodeClass`, { kind: 'EC2NodeClass', age: 0, convert: nothing(cleanConvertedClass) }],
]);

/** Groups of kinds that manifests often write with the other group of Karpenter. */
const GROUPS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['Provisioner', 'NodePool', 'NodeClaim', 'Machine'].map((kind) => [kind, KARPENTER_GROUP])),
  ...Object.fromEntries(['AWSNodeTemplate', 'EC2NodeClass'].map((kind) => [kind, AWS_GROUP])),
};

/** Returns the type with the group that the kind has, because public examples confuse the two groups. */
const typeOf = ({ apiVersion, kind }: FoundObject): string => {
  const [group = '', version = ''] = apiVersion.split('/');
  const isConfused = group === KARPENTER_GROUP || group === AWS_GROUP;
  return `${isConfused && Object.hasOwn(GROUPS, kind) ? GROUPS[kind] : group}/${version} ${kind}`;
};
const hasWrongGroup = (found: FoundObject): boolean => typeOf(found) !== `${found.apiVersion} ${found.kind}`;
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
      const note = this.#notes.on(found.where, found.map);
      if (convertRelease(found, note) || convertWorkload(found, note)) found.source.isChanged = true;
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
    const isConfused = hasWrongGroup(found);
    if (isConfused) {
      const group = GROUPS[found.kind] ?? '';
      edit.note(
        'changed',
        ['apiVersion'],
        `${found.kind} belongs to the group ${group}, not to that of ${found.apiVersion}`,
      );
      edit.set(['apiVersion'], `${group}/v1`);
    }
    if (!isCurrent || isConfused || hasLeftovers(edit)) {
      parts = old.convert(edit, { ...this.#options, isPatch });
      if (!isCurrent) checkConverted(edit, { isPatch });
      const provider = parts?.provider && this.#classOf(found, parts.provider, notes);
      replace(found, copy);
      if (provider) this.#addClass(found, edit, provider);
      this.#notes.add(notes);
    }
    if (old.kind === 'EC2NodeClass') this.#classes.push(found);
    else if (old.reference && (!isPatch || parts?.kubelet))
      this.#users.push({ found, kubelet: parts?.kubelet, reference: old.reference });
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
