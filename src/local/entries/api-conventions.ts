export { applyMergePatch } from '../kubernetes/apiserver/patch/merge.ts';
export { labelSelector } from '../kubernetes/apiserver/selectors.ts';
