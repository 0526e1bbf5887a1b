import { memoryStorage, type Storage } from "../../lib";
import { isInMemory, markedInMemory } from "../../lib/adapters/memory/storage";
import { storageMethods, type StoragePortName, storagePortNames } from "../../lib/storage/port";

describe("ports whose records a restart loses (RFC 6749 §10.5)", () => {
  const storage = memoryStorage({ clients: [] });

  it("are all of memoryStorage but the clients, which are given anew at each start", () => {
    const lost = storagePortNames.filter((name) => isInMemory(storage[name]));
    expect(lost).toEqual(storagePortNames.filter((name) => name !== "clients"));
  });

  it.each(storagePortNames)(
    "show their methods only to code that iterates over them: %s",
    (name: StoragePortName) => {
      const ofRegistry = name === "clients" ? ["save", "replace", "delete", "list"] : [];
      const methods = [...Object.keys(storageMethods[name]), ...ofRegistry];
      expect(Object.keys(storage[name]).toSorted()).toEqual(methods.toSorted());
    },
  );

  it("are not those of another storage, nor copies", () => {
    expect(isInMemory({})).toBe(false);
    expect(isInMemory({ ...storage.endMarks })).toBe(false);
  });

  it("are known to a second copy of this package", () => {
    const port = {};
    markedInMemory({ endMarks: port } as unknown as Storage);
    expect(Reflect.get(port, Symbol.for("authmount.in-memory"))).toBe(true);
  });
});
