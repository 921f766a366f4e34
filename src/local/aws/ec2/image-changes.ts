/** Copies images and changes their deprecation. */
import type {
  CopyImageRequest,
  CopyImageResult,
  DisableImageDeprecationRequest,
  EnableImageDeprecationRequest,
  EnableImageDeprecationResult,
} from '@aws-sdk/client-ec2';
import type { Account } from '../state/account.ts';
import { addImage } from '../state/additions.ts';
import type { StoredImage } from '../state/stored.ts';
import { AwsError, invalidValue, missingParameter } from '../wire/error.ts';
import { refuseDryRun } from './dry-run.ts';
import { unknownId } from './ids.ts';
import { specifiedTags } from './tags.ts';

/** Copies an image. The copy belongs to this account, and has the image's tags only if the request includes them. */
export function copyImage(account: Account, input: CopyImageRequest): CopyImageResult {
  const { Name: name, SourceImageId: source = '', SourceRegion: region } = input;
  if (!name) throw missingParameter('Name');
  if (!region) throw missingParameter('SourceRegion');
  if (region !== account.region)
    throw invalidValue('SourceRegion', region, `The local AWS has only the region ${account.region}.`);
  const image = account.images.get(source);
  if (!image) throw unknownId(source, 'ami');
  const tags = { ...(input.CopyImageTags ? image.tags : {}), ...specifiedTags(input.TagSpecifications, 'image') };
  refuseDryRun(input);
  const { architecture, platform, rootDeviceName, rootSizeGiB } = image;
  return { ImageId: addImage(account, { name, architecture, platform, rootDeviceName, rootSizeGiB, tags }) };
}

export function enableImageDeprecation(
  account: Account,
  input: EnableImageDeprecationRequest,
): EnableImageDeprecationResult {
  const image = ownImage(account, input.ImageId);
  const at = input.DeprecateAt && new Date(input.DeprecateAt);
  if (!at) throw missingParameter('DeprecateAt');
  // the present minute is accepted, because a request with the present time needs a moment to arrive
  if (at.getTime() < account.clock.now() - 60_000)
    throw invalidValue('DeprecateAt', at.toISOString(), 'It must not be in the past.');
  refuseDryRun(input);
  // EC2 rounds to the nearest minute.
  image.deprecationTime = new Date(Math.round(at.getTime() / 60_000) * 60_000).toISOString();
  return { Return: true };
}

export function disableImageDeprecation(
  account: Account,
  input: DisableImageDeprecationRequest,
): EnableImageDeprecationResult {
  const image = ownImage(account, input.ImageId);
  refuseDryRun(input);
  image.deprecationTime = undefined;
  return { Return: true };
}

/** @throws AwsError AuthFailure for an image of another account */
function ownImage(account: Account, id = ''): StoredImage {
  const image = account.images.get(id);
  if (!image) throw unknownId(id, 'ami');
  if (image.ownerId !== account.id) throw new AwsError('AuthFailure', `Not authorized for image:${id}`, 403);
  return image;
}
