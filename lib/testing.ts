/** The public names of `authmount/testing`. */
export { storageContract, type StorageContractOptions } from "./storage/contract/storage-contract";
export type { OpenStorage } from "./storage/contract/rule";
