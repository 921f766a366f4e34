/** Describes machine images. */
import type { DescribeImagesRequest, DescribeImagesResult, Image } from '@aws-sdk/client-ec2';
import { applyFilters, page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import type { StoredImage } from '../state/stored.ts';
import { byIds } from './ids.ts';
import { ec2Tags } from './tags.ts';

export function describeImages(account: Account, input: DescribeImagesRequest): DescribeImagesResult {
  const owned = (image: StoredImage): boolean =>
    !input.Owners?.length ||
    input.Owners.some((owner) =>
      owner === 'self' ? image.ownerId === account.id : owner === image.ownerId || owner === image.ownerAlias,
    );
  const now = new Date(account.clock.now()).toISOString();
  const isDeprecated = (image: StoredImage): boolean => (image.deprecationTime ?? '9999') <= now;
  const named = byIds(account.images.values(), input.ImageIds, 'ami', (image) => image.id)
    .filter(owned)
    // deprecated images of other accounts are hidden, unless the request includes them or names them by id
    .filter(
      (image) =>
        input.IncludeDeprecated || input.ImageIds?.length || image.ownerId === account.id || !isDeprecated(image),
    );
  const found = applyFilters(
    named,
    input.Filters,
    {
      'image-id': (image) => image.id,
      name: (image) => image.name,
      architecture: (image) => image.architecture,
      'owner-id': (image) => image.ownerId,
      'owner-alias': (image) => image.ownerAlias,
      state: (image) => image.state,
      platform: (image) => (image.platform === 'windows' ? 'windows' : undefined),
      'creation-date': (image) => image.creationDate,
      'root-device-type': () => 'ebs',
      'virtualization-type': () => 'hvm',
      'image-type': () => 'machine',
      'is-public': (image) => String(image.ownerId !== account.id),
    },
    (image) => image.tags,
  );
  const { items, next } = page(found, input, { max: 1000 });
  return { Images: items.map((image) => imageView(account, image)), NextToken: next };
}

function imageView(account: Account, image: StoredImage): Image {
  const isWindows = image.platform === 'windows';
  return {
    ImageId: image.id,
    Name: image.name,
    ImageLocation: `${image.ownerAlias ?? image.ownerId}/${image.name}`,
    Description: image.name,
    Architecture: image.architecture,
    CreationDate: image.creationDate,
    ...(image.deprecationTime ? { DeprecationTime: image.deprecationTime } : {}),
    OwnerId: image.ownerId,
    ...(image.ownerAlias ? { ImageOwnerAlias: image.ownerAlias } : {}),
    ImageType: 'machine',
    State: image.state as NonNullable<Image['State']>,
    Public: image.ownerId !== account.id,
    EnaSupport: true,
    Hypervisor: 'xen',
    VirtualizationType: 'hvm',
    RootDeviceType: 'ebs',
    RootDeviceName: image.rootDeviceName,
    PlatformDetails: isWindows ? 'Windows' : 'Linux/UNIX',
    ...(isWindows ? { Platform: 'Windows' as const } : {}),
    BlockDeviceMappings: [
      {
        DeviceName: image.rootDeviceName,
        Ebs: { VolumeSize: image.rootSizeGiB, VolumeType: 'gp3', DeleteOnTermination: true, Encrypted: false },
      },
    ],
    Tags: ec2Tags(image.tags),
  };
}
