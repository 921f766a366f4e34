/** Creates, finds and deletes launch templates. */
import type {
  CreateLaunchTemplateRequest,
  CreateLaunchTemplateResult,
  DeleteLaunchTemplateRequest,
  DeleteLaunchTemplateResult,
  DescribeLaunchTemplatesRequest,
  DescribeLaunchTemplatesResult,
  DescribeLaunchTemplateVersionsRequest,
  DescribeLaunchTemplateVersionsResult,
  LaunchTemplate,
  LaunchTemplateVersion,
  ResponseLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import { applyFilters, page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import type { StoredTemplate } from '../state/stored.ts';
import { AwsError, invalidCombination, missingParameter } from '../wire/error.ts';
import { refuseDryRun } from './dry-run.ts';
import { unknownId } from './ids.ts';
import { ec2Tags, specifiedTags } from './tags.ts';

/** EC2's limit for user data before base64 encoding. */
const MAX_USER_DATA = 16_384;

export interface TemplateReference {
  readonly LaunchTemplateId?: string | undefined;
  readonly LaunchTemplateName?: string | undefined;
  readonly Version?: string | undefined;
}

/** @throws AwsError if the reference is incomplete, or the template or its version does not exist */
export function findTemplate(
  account: Account,
  { LaunchTemplateId: id, LaunchTemplateName: name, Version: version }: TemplateReference,
): StoredTemplate {
  if (id && name) throw invalidCombination('Specify either a launch template ID or a launch template name, not both');
  const template = id ? account.templates.get(id) : byName(account, name);
  if (!template) throw id ? unknownId(id, 'lt') : unknownName();
  if (version && !['$Latest', '$Default', '1'].includes(version)) {
    throw new AwsError('InvalidLaunchTemplateId.VersionNotFound', `Could not find launch template version ${version}`);
  }
  return template;
}

const byName = (account: Account, name: string | undefined): StoredTemplate | undefined => {
  if (!name) throw missingParameter('LaunchTemplateId or LaunchTemplateName');
  return [...account.templates.values()].find((template) => template.summary.LaunchTemplateName === name);
};

const unknownName = (): AwsError =>
  new AwsError(
    'InvalidLaunchTemplateName.NotFoundException',
    'At least one of the launch templates specified in the request does not exist.',
  );

export function createLaunchTemplate(account: Account, input: CreateLaunchTemplateRequest): CreateLaunchTemplateResult {
  const name = input.LaunchTemplateName ?? '';
  if (!/^[a-zA-Z0-9().\-/_]{3,125}$/.test(name)) {
    throw new AwsError(
      'InvalidLaunchTemplateName.MalformedException',
      `The launch template name '${name}' must have 3 to 125 letters, digits or ().-/_`,
    );
  }
  const data = input.LaunchTemplateData ?? {};
  checkUserData(data.UserData);
  const tags = specifiedTags(input.TagSpecifications, 'launch-template');
  refuseDryRun(input);
  if ([...account.templates.values()].some((each) => each.summary.LaunchTemplateName === name)) {
    throw new AwsError('InvalidLaunchTemplateName.AlreadyExistsException', 'Launch template name already in use.');
  }
  const template: StoredTemplate = {
    summary: {
      LaunchTemplateId: account.random.id('lt'),
      LaunchTemplateName: name,
      CreateTime: new Date(account.clock.now()),
      CreatedBy: `arn:aws:sts::${account.id}:assumed-role/local/local`,
      DefaultVersionNumber: 1,
      LatestVersionNumber: 1,
    },
    data,
    tags,
  };
  account.templates.set(template.summary.LaunchTemplateId, template);
  return { LaunchTemplate: templateView(template) };
}

function checkUserData(encoded: string | undefined): void {
  if (encoded === undefined) return;
  if (!/^[A-Za-z0-9+/=\s]*$/.test(encoded)) {
    throw new AwsError('InvalidUserData.Malformed', 'Invalid BASE64 encoding of user data.');
  }
  if (Buffer.from(encoded, 'base64').length > MAX_USER_DATA) {
    throw new AwsError('InvalidUserData.Malformed', `User data is limited to ${MAX_USER_DATA} bytes`);
  }
}

const templateView = (template: StoredTemplate): LaunchTemplate => ({
  ...template.summary,
  Tags: ec2Tags(template.tags),
});

export function deleteLaunchTemplate(account: Account, input: DeleteLaunchTemplateRequest): DeleteLaunchTemplateResult {
  const template = findTemplate(account, input);
  refuseDryRun(input);
  account.templates.delete(template.summary.LaunchTemplateId);
  return { LaunchTemplate: templateView(template) };
}

export function describeLaunchTemplates(
  account: Account,
  input: DescribeLaunchTemplatesRequest,
): DescribeLaunchTemplatesResult {
  const named = [
    ...(input.LaunchTemplateIds ?? []).map((id) => findTemplate(account, { LaunchTemplateId: id })),
    ...(input.LaunchTemplateNames ?? []).map((name) => findTemplate(account, { LaunchTemplateName: name })),
  ];
  const found = applyFilters(
    named.length > 0 ? named : [...account.templates.values()],
    input.Filters,
    {
      'launch-template-name': ({ summary }) => summary.LaunchTemplateName,
      'create-time': ({ summary }) => summary.CreateTime?.toISOString(),
    },
    ({ tags }) => tags,
  );
  const { items, next } = page(found, input, { max: 200 });
  return { LaunchTemplates: items.map(templateView), NextToken: next };
}

export function describeLaunchTemplateVersions(
  account: Account,
  input: DescribeLaunchTemplateVersionsRequest,
): DescribeLaunchTemplateVersionsResult {
  const named = input.LaunchTemplateId || input.LaunchTemplateName;
  if (!named && !input.Versions?.length) throw missingParameter('LaunchTemplateId or LaunchTemplateName');
  const templates = named
    ? (input.Versions ?? ['1']).map((version) => findTemplate(account, { ...input, Version: version }))
    : [...account.templates.values()];
  const versions = templates.map(
    ({ summary, data }): LaunchTemplateVersion => ({
      LaunchTemplateId: summary.LaunchTemplateId,
      LaunchTemplateName: summary.LaunchTemplateName,
      VersionNumber: 1,
      CreateTime: summary.CreateTime,
      CreatedBy: summary.CreatedBy,
      DefaultVersion: true,
      // the types of requests and responses differ only in their names
      LaunchTemplateData: data as ResponseLaunchTemplateData,
    }),
  );
  const { items, next } = page(versions, input, { max: 200 });
  return { LaunchTemplateVersions: items, NextToken: next };
}
