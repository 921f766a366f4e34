/** Converts a NodePool of karpenter.sh/v1beta1 to v1, and removes leftovers of conversion webhooks from v1 objects. */
import { Pair } from 'yaml';
import { AWS_GROUP } from '#api/objects';
import { messageOf, parseJson } from '#lib';
import type { ObjectEdit } from './edit.ts';
import { cleanMetadata, renameAnnotations } from './metadata.ts';
import { isMissing, nodeOf } from './nodes.ts';
import type { Path } from './notes.ts';
import {
  cleanPoolLabels,
  cleanRequirements,
  cleanTaints,
  convertClassRef,
  TEMPLATE,
  TEMPLATE_SPEC,
  writeAlphaDefaults,
} from './pool-template.ts';
import { COMPATIBILITY, V1 } from './renames.ts';

/** Default expiry of v1beta1. */
export const BETA_EXPIRY = '720h';

/** @throws InputError with the field that cannot be converted */
export function convertBetaNodePool(edit: ObjectEdit, { isPatch }: PoolOptions): PoolParts {
  edit.set(['apiVersion'], V1);
  cleanMetadata(edit);
  if (!isPatch && !edit.has(TEMPLATE_SPEC)) edit.fail(TEMPLATE_SPEC, 'is required');
  edit.dropNulls(['spec']);
  const labels = [...TEMPLATE, 'metadata', 'labels'];
  cleanPoolLabels(edit, labels);
  renameAnnotations(edit, [...TEMPLATE, 'metadata', 'annotations']);
  const parts = convertBetaSpec(edit, TEMPLATE_SPEC, isPatch);
  cleanRequirements(edit, [...TEMPLATE_SPEC, 'requirements'], [...TEMPLATE_SPEC, 'requirements']);
  if (edit.has([...TEMPLATE_SPEC, 'resources'])) {
    edit.remove([...TEMPLATE_SPEC, 'resources']);
    edit.note('lost', [...TEMPLATE_SPEC, 'resources'], 'exists only in NodeClaims', TEMPLATE_SPEC);
  }
  convertDisruption(edit, isPatch);
  return parts;
}

/**
 * Converts fields of older versions in a NodePool of v1. Adds only required fields, because defaults of v1 apply to the
 * NodePool.
 *
 * @throws InputError with the field that cannot be converted
 */
export function convertMixedNodePool(edit: ObjectEdit, options: PoolOptions): PoolParts {
  const asPatch = { ...options, isPatch: true };
  const isProvisioner = !edit.has(['spec', 'template']) && edit.has(['spec']);
  const parts = isProvisioner ? convertProvisioner(edit, asPatch) : convertBetaNodePool(edit, asPatch);
  if (edit.has(['spec', 'limits', 'resources'])) edit.hoist(['spec', 'limits'], 'resources');
  const disruption: Path = ['spec', 'disruption'];
  if (!options.isPatch && edit.has(disruption))
    writeDisruption(edit, edit.text([...disruption, 'consolidationPolicy']));
  return parts;
}

/**
 * Converts the part of the spec that templates and NodeClaims share.
 *
 * @returns the kubelet block, which is removed from the object
 */
export function convertBetaSpec(edit: ObjectEdit, path: Path, isPatch: boolean): PoolParts {
  const reference = [...path, 'nodeClassRef'];
  if (edit.map(reference) !== undefined) convertClassRef(edit, reference);
  else if (!isPatch) edit.fail(reference, 'is required; set the name of the EC2NodeClass');
  if (!isPatch && !edit.has([...path, 'requirements'])) edit.set([...path, 'requirements'], []);
  for (const field of ['taints', 'startupTaints']) cleanTaints(edit, [...path, field], [...path, field]);
  const kubelet = edit.map([...path, 'kubelet']) && edit.remove([...path, 'kubelet']);
  return kubelet === undefined ? {} : { kubelet };
}

function convertDisruption(edit: ObjectEdit, isPatch: boolean): void {
  const disruption: Path = ['spec', 'disruption'];
  const expireAfter = [...TEMPLATE_SPEC, 'expireAfter'];
  const policy = edit.text([...disruption, 'consolidationPolicy']);
  if (policy === 'WhenUnderutilized')
    edit.replaceValue([...disruption, 'consolidationPolicy'], 'WhenEmptyOrUnderutilized');
  if (edit.has([...disruption, 'expireAfter'])) moveExpiry(edit, [...disruption, 'expireAfter'], expireAfter);
  else if (!isPatch && !edit.has(expireAfter)) edit.set(expireAfter, BETA_EXPIRY);
  if (isPatch) edit.removeEmpty(disruption);
  else writeDisruption(edit, policy);
}

/** Writes the required fields of a disruption block, with the behaviour of v1beta1. */
function writeDisruption(edit: ObjectEdit, policy: string | undefined): void {
  const disruption: Path = ['spec', 'disruption'];
  if (policy === undefined) edit.set([...disruption, 'consolidationPolicy'], 'WhenEmptyOrUnderutilized');
  if (edit.has([...disruption, 'consolidateAfter'])) return;
  const isEmptyOnly = policy === 'WhenEmpty';
  edit.set([...disruption, 'consolidateAfter'], isEmptyOnly ? 'Never' : '0s');
  if (isEmptyOnly)
    edit.note('assumed', [...disruption, 'consolidateAfter'], 'without this field, v1beta1 did not remove empty nodes');
}

function moveExpiry(edit: ObjectEdit, from: Path, to: Path): void {
  if (!edit.has(to)) {
    edit.move(from, to);
    return;
  }
  edit.remove(from);
  edit.note('lost', from, `${to.join('.')} is also set, and takes precedence`, to);
}

const ANNOTATIONS: Path = ['metadata', 'annotations'];

/** Removes the kubelet block that a conversion webhook put into an annotation, and returns it. */
export function convertedKubelet(edit: ObjectEdit): PoolParts {
  const path = [...ANNOTATIONS, COMPATIBILITY.kubelet];
  const text = edit.text(path);
  edit.remove(path);
  edit.remove([...ANNOTATIONS, COMPATIBILITY.nodeClass]);
  edit.removeEmpty(ANNOTATIONS);
  if (text === undefined) return {};
  const block = jsonAt(edit, path, text);
  if (typeof block !== 'object' || block === null || Array.isArray(block))
    return edit.fail(path, 'must be a kubelet block in JSON');
  edit.note('changed', path, 'Karpenter 1.1 and later ignore it; the block is now in the EC2NodeClass', ['spec']);
  return { kubelet: new Pair(nodeOf('kubelet'), nodeOf(block)) };
}

function jsonAt(edit: ObjectEdit, path: Path, text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    return edit.fail(path, messageOf(error));
  }
}

/** Returns true if a v1 object has annotations of a conversion webhook. */
export const hasLeftovers = (edit: ObjectEdit): boolean =>
  Object.values(COMPATIBILITY).some((name) => edit.has([...ANNOTATIONS, name]));

/** Converts a Provisioner of karpenter.sh/v1alpha5 to a NodePool. */
export interface PoolOptions {
  /** If true, omits the requirements that the webhook of the alpha API added by default. */
  readonly ignoreDefaults?: boolean;
  /** True if the object is a patch. Only existing fields of a patch are converted, and no field is added. */
  readonly isPatch: boolean;
}

/** Settings of a pool that belong to a class in v1. */
export interface PoolParts {
  /** Block of kubelet settings. */
  readonly kubelet?: Pair;
  /** Node settings that are embedded in the Provisioner. */
  readonly provider?: Pair;
}

/** @throws InputError with the field that cannot be converted */
export function convertProvisioner(edit: ObjectEdit, options: PoolOptions): PoolParts {
  edit.set(['apiVersion'], V1);
  edit.set(['kind'], 'NodePool');
  cleanMetadata(edit);
  if (!options.isPatch && !edit.has(['spec'])) edit.fail(['spec'], 'is required');
  edit.dropNulls(['spec']);
  const [first] = edit.keys(['spec']);
  edit.set(['spec', 'template'], {}, first);
  const parts = moveTemplate(edit, options);
  if (edit.has(['spec', 'limits', 'resources'])) edit.hoist(['spec', 'limits'], 'resources');
  edit.removeEmpty(['spec', 'limits']);
  convertTtls(edit, options);
  convertExpiry(edit, options);
  edit.removeEmpty(TEMPLATE);
  return parts;
}

function moveTemplate(edit: ObjectEdit, { isPatch, ignoreDefaults = false }: PoolOptions): PoolParts {
  for (const field of ['labels', 'annotations']) edit.move(['spec', field], [...TEMPLATE, 'metadata', field]);
  cleanPoolLabels(edit, ['spec', 'labels']);
  renameAnnotations(edit, [...TEMPLATE, 'metadata', 'annotations']);
  const parts = moveClass(edit, isPatch);
  const requirements = [...TEMPLATE_SPEC, 'requirements'];
  for (const field of ['requirements', 'taints', 'startupTaints'])
    edit.move(['spec', field], [...TEMPLATE_SPEC, field]);
  cleanRequirements(edit, requirements, ['spec', 'requirements']);
  for (const field of ['taints', 'startupTaints']) cleanTaints(edit, [...TEMPLATE_SPEC, field], ['spec', field]);
  if (isPatch) return parts;
  if (!edit.has(requirements)) edit.set(requirements, []);
  if (!ignoreDefaults) writeAlphaDefaults(edit, requirements);
  return parts;
}

function moveClass(edit: ObjectEdit, isPatch: boolean): PoolParts {
  const reference = [...TEMPLATE_SPEC, 'nodeClassRef'];
  const provider = edit.map(['spec', 'provider']) && edit.remove(['spec', 'provider']);
  if (edit.has(['spec', 'providerRef'])) {
    if (provider !== undefined)
      edit.fail(['spec', 'providerRef'], 'cannot be combined with spec.provider; remove one of them');
    edit.map(['spec', 'providerRef']);
    edit.move(['spec', 'providerRef'], reference);
    convertClassRef(edit, reference);
  } else if (provider !== undefined) {
    const name = edit.text(['metadata', 'name']) ?? '';
    edit.set(reference, { group: AWS_GROUP, kind: 'EC2NodeClass', name });
  } else if (!isPatch) edit.fail(['spec', 'providerRef'], 'is required; set the name of the AWSNodeTemplate');
  // manifests of the alpha API use both names
  const names = ['kubeletConfiguration', 'kubelet'].filter((name) => edit.map(['spec', name]) !== undefined);
  const [kubelet] = names.map((name) => edit.remove(['spec', name]));
  return { ...(kubelet && { kubelet }), ...(provider && !isMissing(provider.value) && { provider }) };
}

function convertTtls(edit: ObjectEdit, { isPatch }: PoolOptions): void {
  const after = edit.count(['spec', 'ttlSecondsAfterEmpty']);
  const consolidates = edit.flag(['spec', 'consolidation', 'enabled']);
  if (consolidates && after !== undefined)
    edit.fail(['spec', 'consolidation'], 'cannot be combined with spec.ttlSecondsAfterEmpty; remove one of them');
  if (consolidates) {
    edit.rename(['spec', 'consolidation'], 'disruption');
    edit.moveInPlace(['spec', 'disruption', 'enabled'], 'consolidationPolicy', 'WhenEmptyOrUnderutilized');
    edit.set(['spec', 'disruption', 'consolidateAfter'], '0s');
    return;
  }
  const isOff = consolidates === false;
  edit.remove(['spec', 'consolidation']);
  if (after !== undefined) {
    edit.set(['spec', 'disruption'], { consolidationPolicy: 'WhenEmpty' }, 'ttlSecondsAfterEmpty');
    edit.moveAs(['spec', 'ttlSecondsAfterEmpty'], ['spec', 'disruption', 'consolidateAfter'], secondsText(after));
  } else if (!isPatch || isOff) {
    edit.set(['spec', 'disruption'], { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const text =
      'Provisioners without consolidation and ttlSecondsAfterEmpty did not remove nodes; NodePools do by default';
    edit.note('assumed', ['spec', 'disruption', 'consolidateAfter'], text);
  }
}

function convertExpiry(edit: ObjectEdit, { isPatch }: PoolOptions): void {
  const expireAfter = [...TEMPLATE_SPEC, 'expireAfter'];
  const until = edit.count(['spec', 'ttlSecondsUntilExpired']);
  if (until !== undefined) edit.moveAs(['spec', 'ttlSecondsUntilExpired'], expireAfter, secondsText(until));
  else if (!isPatch) {
    edit.set(expireAfter, 'Never');
    const text =
      'Provisioners without ttlSecondsUntilExpired did not expire nodes; nodes of NodePools expire after 720h by default';
    edit.note('assumed', expireAfter, text);
  }
}

/** Formats a duration in the largest unit that divides it: `2m`, `1440h`. */
function secondsText(seconds: number): string {
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds > 0 && seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
