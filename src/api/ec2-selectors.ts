/** Terms of an EC2NodeClass that select subnets, security groups, capacity reservations, placement groups and images. */
import {
  type CelRule,
  choice,
  type Declared,
  list,
  object,
  optional,
  patternLike,
  rule,
  stringMap,
  text,
} from './schema/declare.ts';

const termTags = optional(
  stringMap({
    description: 'Tags of the resource. The value `*` matches any value.',
    maxProperties: 20,
    rules: [rule("self.all(key, key != '' && self[key] != '')", "empty tag keys or values aren't supported")],
  }),
);

/** Requires that each term sets at least one of the fields. */
const oneOf = (fields: readonly string[]): CelRule =>
  rule(
    `self.all(x, ${fields.map((field) => `has(x.${field})`).join(' || ')})`,
    `expected at least one, got none, [${fields.map((field) => `'${field}'`).join(', ')}]`,
  );

const setWith = (field: string, others: readonly string[]): string =>
  `has(x.${field}) && (${others.map((other) => `has(x.${other})`).join(' || ')})`;

/** Rejects a list if every term combines the field with other fields. One valid term is sufficient to accept the list. */
const notAllCombine = (field: string, others: readonly string[], message: string): CelRule =>
  rule(`!self.all(x, ${setWith(field, others)})`, message);

const noneCombines = (field: string, others: readonly string[], message: string): CelRule =>
  rule(`!self.exists(x, ${setWith(field, others)})`, message);

const exclusive = (field: string, kind: string): string =>
  `'${field}' is mutually exclusive, cannot be set with a combination of other fields in ${kind}`;

export const subnetSelectorTerms = list(
  object({
    tags: termTags,
    id: optional(
      text({ description: 'ID of the subnet.', pattern: patternLike('subnet-[0-9a-z]+', 'subnet-0123456789abcdef0') }),
    ),
  }),
  {
    description: 'Subnets in which instances are launched. A subnet must match at least one of the terms.',
    maxItems: 30,
    rules: [
      rule('self.size() != 0', 'subnetSelectorTerms cannot be empty'),
      oneOf(['tags', 'id']),
      notAllCombine('id', ['tags'], exclusive('id', 'a subnet selector term')),
    ],
  },
);

export const securityGroupSelectorTerms = list(
  object({
    tags: termTags,
    id: optional(
      text({ description: 'ID of the security group.', pattern: patternLike('sg-[0-9a-z]+', 'sg-0123456789abcdef0') }),
    ),
    name: optional(text({ description: 'Name of the security group. This is not the tag `Name`.' })),
  }),
  {
    description: 'Security groups of the instances. All groups that match at least one of the terms are used.',
    maxItems: 30,
    rules: [
      rule('self.size() != 0', 'securityGroupSelectorTerms cannot be empty'),
      oneOf(['tags', 'id', 'name']),
      notAllCombine('id', ['tags', 'name'], exclusive('id', 'a security group selector term')),
      notAllCombine('name', ['tags', 'id'], exclusive('name', 'a security group selector term')),
    ],
  },
);

export const capacityReservationSelectorTerms = list(
  object({
    tags: termTags,
    id: optional(
      text({
        description: 'ID of the capacity reservation.',
        pattern: patternLike('^cr-[0-9a-z]+$', 'cr-0123456789abcdef0'),
      }),
    ),
    ownerID: optional(
      text({
        description: 'ID of the account that owns the reservation.',
        pattern: patternLike('^[0-9]{12}$', '123456789012'),
      }),
    ),
    instanceMatchCriteria: optional(
      choice(['open', 'targeted'], {
        description:
          'Instances that can run in the reservation: `open` for any matching instance, `targeted` for instances that request it.',
      }),
    ),
  }),
  {
    description: 'Capacity reservations that can be used. A reservation must match at least one of the terms.',
    maxItems: 30,
    rules: [
      oneOf(['tags', 'id', 'instanceMatchCriteria']),
      notAllCombine(
        'id',
        ['tags', 'ownerID', 'instanceMatchCriteria'],
        "'id' is mutually exclusive, cannot be set along with other fields in a capacity reservation selector term",
      ),
    ],
  },
);

export const placementGroupSelector = object(
  {
    name: optional(text({ description: 'Name of the placement group.', minLength: 1 })),
    id: optional(
      text({
        description: 'ID of the placement group.',
        pattern: patternLike('^pg-[0-9a-z]+$', 'pg-0123456789abcdef0'),
      }),
    ),
  },
  {
    description: 'Placement group in which instances are launched.',
    rules: [
      rule('has(self.name) || has(self.id)', "expected at least one, got none, ['name', 'id']"),
      rule('!has(self.name) || !has(self.id)', "'name' and 'id' are mutually exclusive"),
    ],
  },
);

/** All AMI families. A family without images of its own is Custom. */
export const AMI_FAMILIES = [
  'AL2',
  'AL2023',
  'Bottlerocket',
  'Custom',
  'Windows2019',
  'Windows2022',
  'Windows2025',
] as const;

/** AMI family with aliases for its images. */
export type AliasFamily = Exclude<(typeof AMI_FAMILIES)[number], 'Custom'>;
export const ALIAS_FAMILIES: readonly AliasFamily[] = AMI_FAMILIES.filter((family) => family !== 'Custom');

const quoteNames = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');
const aliasNames = ALIAS_FAMILIES.map((family) => family.toLowerCase());
const aliases = quoteNames(aliasNames);
const windowsAliases = quoteNames(aliasNames.filter((name) => name.startsWith('windows')));
/** Returns a CEL expression for the family of an alias: the text before the first `@`. */
export const familyExpression = (alias: string): string => `${alias}.find('^[^@]+')`;

export const amiSelectorTerms = list(
  object({
    alias: optional(
      text({
        description:
          'Family and version of an EKS optimized image, such as `al2023@latest` or `bottlerocket@v1.20.0`. It must be the only term.',
        maxLength: 30,
        rules: [
          rule(
            "self.matches('^[a-zA-Z0-9]+@.+$')",
            "'alias' is improperly formatted, must match the format 'family@version'",
          ),
          rule(
            `${familyExpression('self')} in [${aliases}]`,
            `family is not supported, must be one of the following: ${aliases}`,
          ),
          rule(
            `!(${familyExpression('self')} in [${windowsAliases}]) || self.split('@')[1] == 'latest'`,
            "windows families may only specify version 'latest'",
          ),
        ],
      }),
    ),
    tags: termTags,
    id: optional(
      text({ description: 'ID of the image.', pattern: patternLike('ami-[0-9a-z]+', 'ami-0123456789abcdef0') }),
    ),
    name: optional(text({ description: 'Name of the image, with `*` and `?` as wildcards.' })),
    owner: optional(
      text({
        description: 'Owner of the image: an account ID, `self` or `amazon`. It restricts a term with a name or tags.',
      }),
    ),
    ssmParameter: optional(
      text({ description: 'Name or ARN of the SSM parameter that contains the ID of the image.' }),
    ),
  }),
  {
    description:
      'Images of the instances. For each instance type, the newest image that matches at least one of the terms is used.',
    minItems: 1,
    maxItems: 30,
    rules: [
      oneOf(['tags', 'id', 'name', 'alias', 'ssmParameter']),
      noneCombines('id', ['alias', 'tags', 'name', 'owner'], exclusive('id', 'amiSelectorTerms')),
      noneCombines('alias', ['id', 'tags', 'name', 'owner'], exclusive('alias', 'amiSelectorTerms')),
      rule(
        '!self.exists(x, has(x.alias)) || self.size() == 1',
        "'alias' is mutually exclusive, cannot be set with a combination of other amiSelectorTerms",
      ),
    ],
  },
);

export type SubnetSelectorTerm = Declared<typeof subnetSelectorTerms>[number];
export type SecurityGroupSelectorTerm = Declared<typeof securityGroupSelectorTerms>[number];
export type AmiSelectorTerm = Declared<typeof amiSelectorTerms>[number];
