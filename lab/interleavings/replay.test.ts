// Runs one schedule again: AUTHMOUNT_REPLAY="refresh + withdraw (fresh, opaque): 0.0, 1.0, …", as a failing search prints it.
import { choicesOf, lineOf, replay } from "./explore";
import { describeFinding, stopTimers } from "./search";
import { newWorld, settingOf } from "./worlds";

stopTimers();

const line =
  process.env["AUTHMOUNT_REPLAY"] ??
  "refresh + withdraw (fresh, opaque): 0.0, 1.0, 0.1, 1.1, 0.2, 1.2 (lost answer), 0.3, 0.4, 0.5, 0.6, 0.7";

it("runs a schedule that is written down, and gives the same each time", async () => {
  const [, words = "", choices = ""] = /^(.+?\)): (.+)$/.exec(line) ?? [];
  const setting = settingOf(words);
  const finding = await replay(await newWorld(setting), choicesOf(choices));
  process.stderr.write(`${describeFinding(setting, finding)}\n`);
  const again = await replay(await newWorld(setting), choicesOf(lineOf(finding.choices)));
  expect(again).toEqual(finding);
  expect(finding.problems).toEqual([]);
});
