export { ruleBuiltCatalogue } from '../aws/catalogue/catalogue.ts';
export { FAMILIES } from '../aws/catalogue/families.ts';
export { instanceTypeInfo } from '../aws/catalogue/info.ts';
export { poolDepth } from '../aws/catalogue/pool-depth.ts';
export { apiName } from '../aws/catalogue/sizes.ts';
export { MACHINE_DRIVERS } from '../kubernetes/kubelets/dra/driver-devices.ts';
export { DRIVER_ANNOTATION, type DriverPool, POOLS_ANNOTATION } from '../kubernetes/kubelets/dra/driver-slices.ts';
export { decodeUserData, type KubeletConfig } from '../kubernetes/kubelets/userdata/index.ts';
