/** Launch templates in EC2: made when a launch first needs them, deleted a minute after the last one did. */
import {
  CreateLaunchTemplateCommand,
  DeleteLaunchTemplateCommand,
  DescribeLaunchTemplatesCommand,
  type EC2Client,
  paginateDescribeLaunchTemplates,
  type RequestLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import type { StringMap } from '../../api/kubernetes.ts';
import { EC2_NODECLASS_LABEL } from '../../api/labels.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import { TtlCache } from '../../lib/ttl-cache.ts';
import type { Logger } from '../../observe/logger.ts';
import { codeOf, combined, isNotFound } from '../errors.ts';
import { decimalFingerprint } from '../fingerprint.ts';
import { isOfAnotherCluster } from '../identity.ts';
import type { AwsMetrics } from '../metrics.ts';
import { pagesOf } from '../pages.ts';
import { CLUSTER_NAME_TAG, tagList, tagMap } from '../tags.ts';

const TTL_MS = 60_000;
const SWEEP_MS = 60_000;
/** Close to EC2's limit of 16384 bytes. */
const LARGE_USER_DATA = 14_745;
const NAME_TAKEN = 'InvalidLaunchTemplateName.AlreadyExistsException';
const NAME_PREFIX = 'karpenter.k8s.aws/';

export interface LaunchTemplate {
  readonly name: string;
  readonly data: RequestLaunchTemplateData;
  readonly tags: StringMap;
}

/** Names a template by its content, so that the same content is found again. `identity` is what else distinguishes it. */
export const templateName = (data: RequestLaunchTemplateData, tags: StringMap, identity: unknown): string =>
  `${NAME_PREFIX}${decimalFingerprint([data, tags, identity])}`;

interface LaunchTemplatesOptions {
  readonly ec2: EC2Client;
  readonly clusterName: string;
  /** Templates with another UID are ignored. */
  readonly clusterUid?: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AwsMetrics;
}

export class LaunchTemplates {
  readonly #options: LaunchTemplatesOptions;
  /** Ids by name. */
  readonly #known: TtlCache<string, string>;
  readonly #ensuring = new Map<string, Promise<void>>();
  readonly #expired: { name: string; id: string }[] = [];

  constructor(options: LaunchTemplatesOptions) {
    this.#options = options;
    this.#known = new TtlCache(options.clock, TTL_MS, { evicted: (name, id) => this.#expired.push({ name, id }) });
  }

  /** Makes sure that EC2 has the template. Calls for the same template at the same time share the work. */
  async ensure(template: LaunchTemplate, nodeClassName: string): Promise<void> {
    const { name } = template;
    const id = this.#known.get(name);
    if (id !== undefined) {
      this.#known.set(name, id);
      return;
    }
    let ensuring = this.#ensuring.get(name);
    if (ensuring === undefined) {
      ensuring = this.#find(template, nodeClassName).finally(() => this.#ensuring.delete(name));
      this.#ensuring.set(name, ensuring);
    }
    await ensuring;
  }

  async #find(template: LaunchTemplate, nodeClassName: string): Promise<void> {
    const id = (await this.#describe(template.name)) ?? (await this.#create(template, nodeClassName));
    this.#known.set(template.name, id);
  }

  async #describe(name: string): Promise<string | undefined> {
    try {
      const answer = await this.#options.ec2.send(new DescribeLaunchTemplatesCommand({ LaunchTemplateNames: [name] }));
      const found = answer.LaunchTemplates ?? [];
      if (found.length !== 1)
        throw new Error(`expected to find one launch template (launch-template-count=${found.length})`);
      return found[0]?.LaunchTemplateId;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw new Error(`describing launch templates, ${messageOf(error)}`, { cause: error });
    }
  }

  async #create({ name, data, tags }: LaunchTemplate, nodeClassName: string): Promise<string> {
    const { ec2, metrics, log } = this.#options;
    const bytes = Buffer.from(data.UserData ?? '', 'base64').length;
    metrics.userDataBytes.set({ nodeclass: nodeClassName }, bytes);
    if (bytes >= LARGE_USER_DATA)
      log.error('user data is close to the size limit of EC2', { EC2NodeClass: { name: nodeClassName }, bytes });
    try {
      const answer = await ec2.send(
        new CreateLaunchTemplateCommand({
          LaunchTemplateName: name,
          LaunchTemplateData: data,
          TagSpecifications: [{ ResourceType: 'launch-template', Tags: tagList(tags) }],
        }),
      );
      const id = answer.LaunchTemplate?.LaunchTemplateId ?? '';
      log.debug('created launch template', { id });
      return id;
    } catch (error) {
      // The answer to an earlier try was lost, or another replica was quicker. Equal names mean equal content.
      const id = codeOf(error) === NAME_TAKEN ? await this.#describe(name) : undefined;
      if (id !== undefined) return id;
      throw new Error(`creating launch template, ${messageOf(error)}`, { cause: error });
    }
  }

  /** EC2 does not have them any more, whatever is remembered. */
  forget(names: readonly string[]): void {
    for (const name of names) this.#known.forget(name);
  }

  /** Remembers the cluster's templates of an earlier leader, so that they are used or deleted. */
  async hydrate(): Promise<void> {
    for (const { name, id } of await this.#list([
      { Name: `tag:${CLUSTER_NAME_TAG}`, Values: [this.#options.clusterName] },
    ]))
      this.#known.set(name, id);
  }

  async #list(Filters: { Name: string; Values: string[] }[]): Promise<readonly { name: string; id: string }[]> {
    const found: { name: string; id: string }[] = [];
    for await (const page of pagesOf(
      'DescribeLaunchTemplates',
      paginateDescribeLaunchTemplates({ client: this.#options.ec2 }, { Filters, MaxResults: 200 }),
    ))
      for (const { LaunchTemplateName: name = '', LaunchTemplateId: id = '', Tags } of page.LaunchTemplates ?? [])
        if (!isOfAnotherCluster(tagMap(Tags), this.#options.clusterUid)) found.push({ name, id });
    return found;
  }

  /** Deletes templates that no launch has used for a while. A failure is logged; the next leader will find them. */
  async deleteUnused(): Promise<void> {
    this.#known.sweep();
    for (const { name, id } of this.#expired.splice(0)) {
      if (this.#known.has(name)) continue;
      try {
        await this.#options.ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateId: id }));
        this.#options.log.debug('deleted launch template', { id, name });
      } catch (error) {
        if (!isNotFound(error)) this.#options.log.error('failed to delete launch template', { id, name, error });
      }
    }
  }

  /** Deletes every template of a NodeClass. @throws Error when some remain */
  async deleteAll(nodeClass: EC2NodeClass): Promise<void> {
    const { clusterName, ec2, metrics, log } = this.#options;
    const templates = await this.#list([
      { Name: `tag:${CLUSTER_NAME_TAG}`, Values: [clusterName] },
      { Name: `tag:${EC2_NODECLASS_LABEL}`, Values: [nodeClass.metadata.name] },
    ]);
    const failures: unknown[] = [];
    for (const { name } of templates) {
      this.#known.forget(name);
      try {
        await ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: name }));
      } catch (error) {
        failures.push(error);
      }
    }
    metrics.userDataBytes.remove({ nodeclass: nodeClass.metadata.name });
    if (failures.length > 0) throw combined('deleting launch templates', failures);
    if (templates.length > 0)
      log.debug('deleted launch templates', { launchTemplates: templates.map(({ name }) => name) });
  }
}

export function launchTemplatesController(templates: LaunchTemplates): Singleton {
  let hydrated = false;
  return {
    name: 'providers.launchtemplate',
    singleton: true,
    async reconcile({ log }) {
      if (!hydrated) {
        try {
          await templates.hydrate();
          hydrated = true;
        } catch (error) {
          log.error('failed to list launch templates', { error });
        }
      }
      await templates.deleteUnused();
      return after(SWEEP_MS);
    },
  };
}
