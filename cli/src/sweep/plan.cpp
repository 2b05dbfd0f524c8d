// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "farfault/cli/parameter_sections.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "places.hpp"
#include "process/build_id.hpp"
#include "process/shell_line.hpp"
#include "run/engine_values.hpp"

namespace farfault::cli {
namespace {

std::vector<VariedKey> varied_keys(Points const& points, Extensions const& extensions) {
  auto const sections = parameter_sections(extensions);
  std::vector<VariedKey> keys;
  for (std::size_t k = 0; k < points.keys().size(); ++k) {
    auto const& key = points.keys()[k];
    std::string text =
        key == kBaseKey ? "Configuration: a file, or the name of a preset" : "Parameter of the configuration";
    for (auto const& section : sections.all())
      for (auto const& param : section.table.all())
        if ((section.name.empty() ? param.name : section.name + "." + param.name) == key) text = param.text;
    keys.push_back({key, text, k < points.of_list()});
  }
  return keys;
}

std::string assignment(std::string const& key, StudyValue const& value) {
  auto const& text = value.text;
  bool const plain =
      value.kind != ValueKind::text || (!text.empty() && text.find_first_of("[{\"'") != 0 &&
                                        text == one_line(text) && text.front() != ' ' && text.back() != ' ');
  return key + "=" + (plain ? text : value.toml);
}

void place(StudySetting const& setting, Study const& study, std::vector<PlacedSetting>& settings) {
  if (setting.placed_toml.empty())
    settings.push_back({setting.key, setting.value.toml, study.path, setting.line});
  else
    settings.push_back({setting.key, setting.placed_toml, study.path, 0});
  for (auto const& inner : setting.inner) place(inner, study, settings);
}

// Identifies a workload: two runs with equal keys (without lines) read the same files.
std::string workload_key(Config const& config, bool with_lines) {
  std::string key;
  for (auto const& b : config.bound())
    if (b.key.starts_with("workload.") || b.key.starts_with("application.")) {
      auto where = config.where(b.key);
      if (!with_lines) where.resize(std::min(where.rfind(':'), where.size()));
      key += b.key + "\n" + b.value + "\n" + where + "\n";
    }
  return key;
}

bool names_files(Model const& model) {
  auto const& all = model.applications.all();
  return std::any_of(all.begin(), all.end(), [&](ApplicationSet::One const& one) {
    auto const* const file = one.file.empty() ? nullptr : model.config.find_bound(one.file);
    return file != nullptr && !file->value.empty();
  });
}

}  // namespace

std::string key_of_assignment(std::string const& assignment) {
  auto const key = assignment.substr(0, assignment.find('='));
  auto const first = std::min(key.find_first_not_of(" \t"), key.size());
  return key.substr(first, key.find_last_not_of(" \t") + 1 - first);
}

RunIdentity::RunIdentity(Model const& model, bool extended)
    : model_(model), hash_(model.hash()), extended_(extended) {}

std::string RunIdentity::name() const {
  return fmt::format("{:016x}", hash_);
}

std::string RunIdentity::why_not_in(results::SweptRun const& run) const {
  if (run.end_reason != "completed" || run.result_digest.empty()) return "the existing result is incomplete";
  if (run.farfault_version != FARFAULT_VERSION || run.commit != program_commit() ||
      (!commit_identifies_program(extended_) && run.build != build_id()))
    return "the existing result is from a different farfault version";
  constexpr char const* kOthers = "the existing result is from a different configuration or input file";
  auto const& inputs = model_.inputs;
  std::vector<std::string> parameters;
  for (auto const& input : inputs) parameters.push_back(input.parameter);
  if (run.config != results::without_file_names(model_.result_config(), parameters) ||
      run.inputs.size() != inputs.size())
    return kOthers;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (run.inputs[i].parameter != inputs[i].parameter || run.inputs[i].bytes != inputs[i].bytes ||
        run.inputs[i].hash != fmt::format("{:016x}", inputs[i].hash))
      return kOthers;
  return {};
}

Plan::Plan(SweepOptions const& options, Study const& study, Points const& points,
           std::function<void(double)> const& report_progress)
    : options_(options),
      study_(study),
      points_(points),
      folder_(folder_of_sweep(options, study)),
      checked_(folder_),
      saved_(folder_, program_hash(!options.extensions.empty())),
      runs_(points.count()),
      table_(varied_keys(points, options.extensions), points.count()),
      models_(study.path) {
  auto const part = options.part.value_or(SweepPart{});
  for (auto run = part.number - 1; run < points.count(); run += part.of) {
    add(run);
    report_progress(static_cast<double>(run + 1) / static_cast<double>(points.count()));
  }
  if (distinct_.empty() && !without_input_.empty()) {
    auto const first = without_input_.front();
    throw UserError(table_.error_of(first) +
                    fmt::format(" (run {}: {})", first, text_of(points_.settings(first))));
  }
}

std::string Plan::base_of(Settings const& settings, std::size_t run) const {
  auto const own =
      std::find_if(settings.begin(), settings.end(), [](StudySetting const& s) { return s.key == kBaseKey; });
  auto const& base = own == settings.end() ? study_.base : *own;
  auto const& name = base.value.text;
  if (name.empty())
    throw UserError(fmt::format("{}:1: base is missing, and run {} ({}) does not set it",
                                one_line(study_.path), run, text_of(settings)));
  auto& known = bases_[name];
  if (!known.empty()) return known;
  auto const file = (std::filesystem::path(study_.path).parent_path() / name).string();
  if (exists(file)) return known = file;
  auto const& extensions = options_.extensions;
  if (extensions.find_preset(name)) return known = name;
  std::string presets;
  for (auto const& preset : extensions.preset_names()) presets += (presets.empty() ? "" : ", ") + preset;
  throw UserError(fmt::format("{}:{}: base '{}' is neither a file nor a preset ({})", one_line(study_.path),
                              base.line, shown(name), presets));
}

std::optional<std::size_t> Plan::run_of(std::string const& name) const {
  auto const first = firsts_.find(name);
  return first == firsts_.end() ? std::nullopt : std::optional(first->second);
}

std::vector<std::size_t> Plan::missing() const {
  std::vector<std::size_t> all;
  for (auto const run : distinct_)
    if (table_.state(run) != RunTable::State::done) all.push_back(run);
  return all;
}

void Plan::copy_repeated() {
  for (std::size_t run = 0; run < runs_.size(); ++run)
    if (!runs_[run].name.empty() && runs_[run].first != run) table_.set_as(run, runs_[run].first);
}

void Plan::add(std::size_t run) {
  auto const settings = points_.settings(run);
  try {
    add(run, base_of(settings, run), settings);
  } catch (UserError const& e) {
    // An error outside the study's file is caused by its settings, so the message identifies the run.
    std::string const what = e.what();
    if (what.starts_with(one_line(study_.path) + ":") || what.find('\n') != what.npos) throw;
    throw UserError(what + fmt::format(" (run {}: {})", run, text_of(settings)));
  }
}

void Plan::add(std::size_t run, std::string const& base, Settings const& settings) {
  Model* model = nullptr;
  std::unique_ptr<OwnModel> own;
  try {
    model = models_.find(base, settings);
    if (model != nullptr && add_known_inputs(*model)) return add(run, settings, *model);
    model = nullptr;
    std::vector<std::string> keys;
    for (auto const& s : settings) keys.push_back(s.key);
    ++models_made_;
    own = std::make_unique<OwnModel>(run_options(base, settings, ""), keys);
    model = &own->model;
    if (add_known_inputs(*model)) {
      add(run, settings, *model);
      return models_.keep(base, settings, std::move(own));
    }
    read_inputs_of_workloads(*model);
  } catch (InputFileError const& e) {
    note_unused(settings, nullptr);
    return fail(run, values_of(settings, model), e.what());
  }
  add(run, settings, *model);
}

void Plan::fail(std::size_t run, std::vector<StudyValue> values, std::string const& why) {
  table_.set_values(run, points_.name(run), std::move(values));
  table_.set_failed(run, one_line(why));
  without_input_.push_back(run);
}

void Plan::note_unused(Settings const& settings, Model const* model) {
  std::vector<std::string> varied, common;
  for (auto const& s : settings)
    if (s.key != kBaseKey) varied.push_back(s.key);
  for (auto const& s : study_.shared) common.push_back(s.key);
  for (auto const& set : options_.sets) common.push_back(key_of_assignment(set));
  unused_keys_.note(varied, common, model == nullptr ? nullptr : &model->config);
}

void Plan::add(std::size_t run, Settings const& settings, Model const& model) {
  note_unused(settings, &model);
  table_.set_values(run, points_.name(run), values_of(settings, &model));
  RunIdentity const identity(model, !options_.extensions.empty());
  auto const [at, fresh] = firsts_.emplace(identity.name(), run);
  runs_[run] = {identity.name(), at->second};
  if (!fresh) return;
  distinct_.push_back(run);
  look_for(run, identity);
}

void Plan::look_for(std::size_t run, RunIdentity const& identity) {
  auto const path = result_path(folder_, identity.name());
  if (exists(path)) {
    std::string why_not;
    try {
      auto const there = results::read_swept_run(path);
      why_not = identity.why_not_in(there);
      if (why_not.empty() && !checked_.is_unchanged(identity.name(), there.result_digest))
        why_not = "the existing result was modified after its run";
      if (why_not.empty()) {
        table_.set_done(run, result_name(identity.name()), there);
        if (!there.resumed) {
          wall_time_ += there.wall_time;
          known_cost_ += cost(run);
        }
        return;
      }
    } catch (UserError const&) {
      why_not = "the existing file is not a result";  // the run will replace it
    }
    table_.set_missing(run, why_not);
    ++stale_;
  }
  look_for_checkpoint(run);
  auto const failure = failure_in(failure_path(folder_, identity.name()));
  if (!failure.empty()) table_.set_failed(run, failure);
}

void Plan::look_for_checkpoint(std::size_t run) {
  if (auto const* const saved = saved_.look_for(run, runs_[run].name))
    table_.set_missing(run, text_of(*saved));
}

bool Plan::add_known_inputs(Model& model) const {
  if (!names_files(model)) return true;
  auto const at = workload_inputs_.find(workload_key(model.config, false));
  if (at != workload_inputs_.end()) {
    model.inputs.insert(model.inputs.end(), at->second.begin(), at->second.end());
    return true;
  }
  if (workload_failures_.empty()) return false;
  auto const failed = workload_failures_.find(workload_key(model.config, true));
  if (failed != workload_failures_.end()) throw InputFileError(failed->second);
  return false;
}

// Reading a large graph takes long, so runs with the same workload share one reading.
void Plan::read_inputs_of_workloads(Model& model) {
  auto const others = static_cast<std::ptrdiff_t>(model.inputs.size());
  try {
    model.build_workloads();
  } catch (UserError const& e) {
    throw InputFileError(workload_failures_[workload_key(model.config, true)] = e.what());
  }
  workload_inputs_[workload_key(model.config, false)].assign(model.inputs.begin() + others,
                                                             model.inputs.end());
}

std::vector<StudyValue> Plan::values_of(Settings const& settings, Model const* model) const {
  std::vector<StudyValue> values;
  for (auto const& key : points_.keys()) {
    auto const set =
        std::find_if(settings.begin(), settings.end(), [&](auto const& s) { return s.key == key; });
    if (set != settings.end()) {
      values.push_back(set->value);
      continue;
    }
    if (key == kBaseKey) {
      values.push_back(study_.base.value);
      continue;
    }
    // A point of the list that leaves the key unchanged. An unused key has no value.
    StudyValue value;
    if (model == nullptr) {
      values.push_back(std::move(value));
      continue;
    }
    if (auto const* const b = model->config.find_bound(key)) {
      value = {"", b->value, ValueKind::text};
      if (!b->quoted && !b->value.empty() && b->value.find_first_not_of("0123456789") == b->value.npos)
        value.kind = ValueKind::count;
      else if (!b->quoted && b->value != "true" && b->value != "false")
        value.kind = ValueKind::number;
    }
    values.push_back(std::move(value));
  }
  return values;
}

RunOptions Plan::run_options(std::size_t run, std::string const& output) const {
  auto const settings = points_.settings(run);
  return run_options(base_of(settings, run), settings, output);
}

RunOptions Plan::run_options(std::string const& base, Settings const& settings,
                             std::string const& output) const {
  RunOptions r;
  r.config_path = base;
  r.sets = options_.sets;
  r.output = output;
  r.threads = options_.threads;
  r.progress = ProgressMode::off;
  r.extensions = options_.extensions;
  std::vector<std::string> words{"run", r.config_path};
  for (auto const& setting : study_.shared) {
    place(setting, study_, r.study_settings);
    words.insert(words.end(), {"--set", assignment(setting.key, setting.value)});
  }
  for (auto const& set : options_.sets) words.insert(words.end(), {"--set", set});
  for (auto const& setting : settings) {
    if (setting.key == kBaseKey) continue;
    place(setting, study_, r.point_settings);
    words.insert(words.end(), {"--set", assignment(setting.key, setting.value)});
  }
  words.insert(words.end(), {"--output", output});
  r.command_line = shell_line(words);
  return r;
}

}  // namespace farfault::cli
