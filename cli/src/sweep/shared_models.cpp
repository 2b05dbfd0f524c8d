// SPDX-License-Identifier: Apache-2.0
#include "shared_models.hpp"

namespace farfault::cli {
namespace {

// Makes the text unambiguous: different lists of words have different texts.
void add_word(std::string& text, std::string const& word) {
  text += std::to_string(word.size()) + " " + word;
}

}  // namespace

SharedModels::Kind& SharedModels::kind_of(std::string const& base, std::vector<StudySetting> const& settings,
                                          std::string& name) {
  add_word(name, base);
  for (auto const& s : settings) add_word(name, s.key);
  return kinds_[name];
}

void SharedModels::add_values(Kind const& kind, std::vector<StudySetting> const& settings,
                              std::string& name) {
  for (auto const i : kind.fixed) add_word(name, settings[i].value.toml);
}

Model* SharedModels::find(std::string const& base, std::vector<StudySetting> const& settings) {
  std::string name;
  auto const& kind = kind_of(base, settings, name);
  if (!kind.is_known) return nullptr;
  add_values(kind, settings, name);
  auto const at = by_name_.find(name);
  if (at == by_name_.end()) return nullptr;
  models_.splice(models_.begin(), models_, at->second);
  std::vector<PlacedSetting> values;
  for (std::size_t i = 0; i < settings.size(); ++i)
    if (!kind.fixed.contains(i))
      values.push_back({settings[i].key, settings[i].value.toml, study_path_, settings[i].line});
  auto& model = models_.front().own->model;
  return model.vary(values) ? &model : nullptr;
}

void SharedModels::keep(std::string const& base, std::vector<StudySetting> const& settings,
                        std::unique_ptr<OwnModel> model) {
  std::string name;
  auto& kind = kind_of(base, settings, name);
  kind.is_known = true;
  for (std::size_t i = 0; i < settings.size(); ++i)
    if (!model->model.config.can_vary(settings[i].key, study_path_, settings[i].line)) kind.fixed.insert(i);
  add_values(kind, settings, name);
  if (by_name_.contains(name)) return;
  models_.push_front({name, std::move(model)});
  by_name_[name] = models_.begin();
  if (models_.size() <= kMax) return;
  by_name_.erase(models_.back().name);
  models_.pop_back();
}

}  // namespace farfault::cli
