/** Last step of a NodeClass: validates its settings and the controller's permission to launch it. */
import type { EC2Client } from '@aws-sdk/client-ec2';
import {
  EC2_NODE_CLASS,
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2_NODECLASS_HASH_VERSION_ANNOTATION,
  type EC2NodeClass,
  getCondition,
  NODE_POOL,
  type NodePool,
} from '#api/objects';
import { causeOf } from '#cloud';
import type { Informers } from '#kube/client';
import { defined, messageOf } from '#lib';
import { type Clock, TtlCache } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { familyOf } from '../amis/families.ts';
import type { ClusterCidr, ClusterFacts } from '../cluster.ts';
import { isExpired, isServerFault, isUnanswered } from '../errors.ts';
import { setFingerprint } from '../fingerprint.ts';
import { canLaunch } from '../instancetypes/compatibility.ts';
import type { InstanceTypes } from '../instancetypes/instancetypes.ts';
import { parseKubelet } from '../kubelet/block.ts';
import { kubeletErrors, unsupportedKubelet } from '../kubelet/block-validation.ts';
import { compileFailure, hasExpressions } from '../kubelet/expressions.ts';
import { type LaunchTemplates, planTemplates } from '../launchtemplates/launchtemplates.ts';
import type { PlacementGroups } from '../placementgroups.ts';
import { launchTags, restrictedTags } from '../tags.ts';
import { InvalidUserData } from '../userdata/input.ts';
import { GROUP_UNKNOWN } from './discovery.ts';
import { claimToTry, type DryRunResult, judge, tenancyToTry, tryFleet, tryInstance, typeToTry } from './dryrun.ts';
import type { NodeClassStep, NodeClassStepResult, StepTools } from './step.ts';

const CONDITION = 'ValidationSucceeded';
const AGAIN_MS = 10 * 60_000;
const CACHE_TTL_MS = 30 * 60_000;
const DEPENDENCIES = ['AMIsReady', 'InstanceProfileReady', 'SecurityGroupsReady', 'SubnetsReady'];

interface ValidationOptions {
  /** Client without retries, because a throttled request is retried by the next reconciliation. */
  readonly ec2: EC2Client;
  readonly informers: Informers;
  readonly types: InstanceTypes;
  readonly templates: LaunchTemplates;
  readonly placementGroups: PlacementGroups;
  readonly cluster: ClusterFacts;
  readonly cidr: ClusterCidr;
  readonly region: string;
  readonly reservedCapacity: boolean;
  readonly nodeClassCel: boolean;
  readonly disableDryRun: boolean;
  readonly clock: Clock;
}

interface Failure {
  readonly reason: string;
  readonly message: string;
  readonly status?: 'False' | 'Unknown';
  readonly againMs?: number;
  readonly error?: Error;
  readonly terminal?: boolean;
}

/** Annotations that this process writes, often during the first validation. They must not cause a second validation. */
const OWN_ANNOTATIONS = new Set<string>([EC2_NODECLASS_HASH_ANNOTATION, EC2_NODECLASS_HASH_VERSION_ANNOTATION]);

/** Results of dry runs, by the fields on which they depend. */
export class ValidationCache {
  readonly #verdicts: TtlCache<string, DryRunResult>;
  /** The last key of each NodeClass with its input, because NodeClasses are reconciled every minute. */
  readonly #keys = new Map<string, { readonly text: string; readonly key: string }>();

  constructor(clock: Clock) {
    this.#verdicts = new TtlCache(clock, CACHE_TTL_MS);
  }

  #key({ metadata: { name, annotations = {} }, spec, status }: EC2NodeClass): string {
    const others = Object.entries(annotations).filter(([key]) => !OWN_ANNOTATIONS.has(key));
    const depends = [status?.subnets, status?.securityGroups, status?.amis, status?.instanceProfile, spec, others];
    const text = JSON.stringify(depends);
    const known = this.#keys.get(name);
    if (known?.text === text) return known.key;
    const key = `${name}:${setFingerprint(depends).slice(0, 16)}`;
    this.#keys.set(name, { text, key });
    return key;
  }

  get(nodeClass: EC2NodeClass): DryRunResult | undefined {
    return this.#verdicts.get(this.#key(nodeClass));
  }

  set(nodeClass: EC2NodeClass, verdict: DryRunResult): void {
    this.#verdicts.sweep();
    this.#verdicts.set(this.#key(nodeClass), verdict);
  }

  forget(name: string): void {
    this.#keys.delete(name);
    for (const key of this.#verdicts.keys()) if (key.startsWith(`${name}:`)) this.#verdicts.delete(key);
  }
}

/** Returns a failure that persists until the NodeClass is changed. */
const hopeless = (reason: string, message: string): Failure => ({
  reason,
  message,
  error: new Error(message),
  terminal: true,
});

/** Returns the first error in the NodeClass itself, without a request to AWS. */
export function staticFailure(nodeClass: EC2NodeClass, nodeClassCel: boolean): Failure | undefined {
  const raw = nodeClass.spec.kubelet;
  const structural = kubeletErrors(raw);
  if (structural.length > 0) return { reason: 'InvalidKubeletConfiguration', message: structural.join('; ') };
  const kubelet = parseKubelet(raw);
  if (hasExpressions(kubelet) && !nodeClassCel)
    return {
      ...hopeless(
        'KubeletExpressionsDisabled',
        'spec.kubelet contains a CEL expression, but the NodeClassCEL feature gate is disabled',
      ),
      error: new Error('kubelet expressions are disabled'),
    };
  const uncompiled = compileFailure(kubelet);
  if (uncompiled !== undefined) return hopeless('KubeletExpressionInvalid', uncompiled);
  const unsupported = unsupportedKubelet(raw, kubelet, familyOf(nodeClass));
  return unsupported.length > 0 ? hopeless('UnsupportedKubeletConfiguration', unsupported.join('; ')) : undefined;
}

function dependencyFailure(nodeClass: EC2NodeClass): Failure | undefined {
  const states = DEPENDENCIES.map((type) => getCondition(nodeClass, type)?.status ?? 'Unknown');
  const status = states.includes('False') ? 'False' : states.includes('Unknown') ? 'Unknown' : undefined;
  if (status === undefined) return undefined;
  const message = 'Awaiting AMI, Instance Profile, Security Group, and Subnet resolution';
  return { reason: 'DependenciesNotReady', message, status, againMs: AGAIN_MS };
}

async function expressionFailure(nodeClass: EC2NodeClass, types: InstanceTypes): Promise<Failure | undefined> {
  if (!hasExpressions(parseKubelet(nodeClass.spec.kubelet))) return undefined;
  const failed = await types.expressionFailure(nodeClass);
  return failed === undefined ? undefined : hopeless('KubeletExpressionEvaluationFailed', failed);
}

function tagFailure(nodeClass: EC2NodeClass): Failure | undefined {
  const restricted = restrictedTags(nodeClass.spec.tags);
  if (restricted.length === 0) return undefined;
  const message = `tags failed validation requirements (tags=${restricted.map((tag) => `"${tag}"`).join(', ')})`;
  return hopeless('TagValidationFailed', message);
}

export function validationStep(tools: StepTools, options: ValidationOptions, cache: ValidationCache): NodeClassStep {
  const validation = new Validation(tools, options, cache);
  return (nodeClass, log) => validation.run(nodeClass, log);
}

class Validation {
  readonly #tools: StepTools;
  readonly #options: ValidationOptions;
  readonly #cache: ValidationCache;

  constructor(tools: StepTools, options: ValidationOptions, cache: ValidationCache) {
    this.#tools = tools;
    this.#options = options;
    this.#cache = cache;
  }

  async run(nodeClass: EC2NodeClass, log: Logger): Promise<NodeClassStepResult> {
    const early = await this.#earlyResult(nodeClass);
    if (early !== undefined) return early;
    const known = this.#cache.get(nodeClass);
    if (known !== undefined) return this.#applied(nodeClass, known);
    try {
      const verdict: DryRunResult = this.#options.disableDryRun
        ? { kind: 'passed' }
        : await this.#dryRun(nodeClass, log);
      if (verdict.kind === 'passed' || (verdict.kind === 'refused' && verdict.remember))
        this.#cache.set(nodeClass, verdict);
      return this.#applied(nodeClass, verdict);
    } catch (error) {
      const invalid = causeOf(error, InvalidUserData);
      if (invalid === undefined) return { nodeClass, error };
      const message = `spec.userData is invalid for the ${familyOf(nodeClass).name} AMI family: ${invalid.message}`;
      return this.#fail(nodeClass, { reason: 'InvalidUserData', message, error: invalid, terminal: true });
    }
  }

  /** Returns the result of the checks before the dry run, or undefined if they succeed. */
  async #earlyResult(nodeClass: EC2NodeClass): Promise<NodeClassStepResult | undefined> {
    const { types, nodeClassCel } = this.#options;
    const cidr = await this.#cidrResult(nodeClass);
    if (cidr !== undefined) return cidr;
    const early = staticFailure(nodeClass, nodeClassCel) ?? dependencyFailure(nodeClass);
    if (early !== undefined) return this.#fail(nodeClass, early);
    if (!types.loaded && hasExpressions(parseKubelet(nodeClass.spec.kubelet))) return { nodeClass, againMs: 0 };
    // The previous step has reported the error and causes a retry.
    if (getCondition(nodeClass, 'PlacementGroupReady')?.reason === GROUP_UNKNOWN) return { nodeClass };
    const late = (await expressionFailure(nodeClass, types)) ?? tagFailure(nodeClass);
    return late === undefined ? undefined : this.#fail(nodeClass, late);
  }

  /** Resolves the service CIDR, if nodes of the AMI family need it to join the cluster. */
  async #cidrResult(nodeClass: EC2NodeClass): Promise<NodeClassStepResult | undefined> {
    if (!familyOf(nodeClass).needsServiceCidr) return undefined;
    try {
      await this.#options.cidr.resolve();
      return undefined;
    } catch (error) {
      if (isServerFault(error)) return { nodeClass, againMs: 0 };
      if (isUnanswered(error) || isExpired(error)) return { nodeClass, error };
      const message = 'Failed to detect the cluster CIDR';
      const cause = new Error(`failed to detect the cluster CIDR, ${messageOf(error)}`, { cause: error });
      return this.#fail(nodeClass, { reason: 'ClusterCIDRResolutionFailed', message, error: cause });
    }
  }

  async #dryRun(nodeClass: EC2NodeClass, log: Logger): Promise<DryRunResult> {
    const { types, informers, placementGroups, cluster, cidr, region, reservedCapacity, templates, ec2 } =
      this.#options;
    const group = await placementGroups.current(nodeClass);
    const launchable = (await types.list(nodeClass)).filter((each) =>
      canLaunch(types.info(each.name) ?? {}, nodeClass, familyOf(nodeClass), group),
    );
    const pools = poolsOf(informers, nodeClass);
    const tried = typeToTry(nodeClass, launchable, pools);
    if (tried === undefined) throw new Error('no instance type matches an AMI of the NodeClass');
    const tags = launchTags(nodeClass, cluster, '');
    const [planned] = planTemplates({
      nodeClass,
      claim: claimToTry(nodeClass),
      types: [tried],
      capacityType: 'on-demand',
      tenancy: tenancyToTry(pools),
      tags,
      placementGroup: group,
      cluster,
      cidr: cidr.known,
      region,
      reservedCapacity,
      reservedOf: (name) => types.reservedFor(nodeClass, name),
      log,
    });
    if (planned === undefined) throw new Error('no launch template to validate with');
    try {
      await templates.ensure(planned.template, nodeClass.metadata.name);
    } catch (error) {
      return judge('CreateLaunchTemplate', 'CreateLaunchTemplateAuthCheckFailed', error);
    }
    const input = { nodeClass, templateName: planned.template.name, instanceTypes: [tried.name], tags };
    const fleet = await tryFleet(ec2, input);
    return fleet.kind === 'passed' ? tryInstance(ec2, input) : fleet;
  }

  #applied(nodeClass: EC2NodeClass, verdict: DryRunResult): NodeClassStepResult {
    if (verdict.kind === 'again') return { nodeClass, againMs: 0 };
    if (verdict.kind === 'passed') {
      const passed = { type: CONDITION, status: 'True', message: '' } as const;
      return { nodeClass: this.#tools.setCondition(nodeClass, passed), againMs: AGAIN_MS };
    }
    return this.#fail(nodeClass, { ...verdict, againMs: verdict.remember ? AGAIN_MS : 0 });
  }

  #fail(nodeClass: EC2NodeClass, failure: Failure): NodeClassStepResult {
    return {
      nodeClass: this.#tools.setCondition(nodeClass, {
        type: CONDITION,
        status: failure.status ?? 'False',
        reason: failure.reason,
        message: failure.message,
      }),
      ...defined({ againMs: failure.againMs, error: failure.error }),
      ...(failure.terminal === true ? { terminal: true } : {}),
    };
  }
}

const poolsOf = (informers: Informers, nodeClass: EC2NodeClass): readonly NodePool[] =>
  informers
    .store(NODE_POOL)
    .list()
    .filter(({ spec }) => {
      const { group, kind, name } = spec.template.spec.nodeClassRef;
      return group === EC2_NODE_CLASS.group && kind === EC2_NODE_CLASS.kind && name === nodeClass.metadata.name;
    })
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
